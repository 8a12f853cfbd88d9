package vec

// This file has the vocabulary of tiles: registers with rows, which are multiplied as matrices.

// Tile is the number of a tile register, which the kernel chooses. A tile is not a vector: a
// configuration defines its shape, and its data can be copied to vectors only through memory.
type Tile uint8

// Tiles is a Machine with tiles. A configuration must come before their first use, and clears all
// of them. Generated functions release the tiles before they return.
type Tiles interface {
	Tiler
	// TileShapes returns a configuration in the frame in which no tile has a shape.
	TileShapes() TileShapes
	// ZeroTile clears a tile, LoadTile loads its rows, which begin at p and are apart bytes apart,
	// and StoreTile stores them.
	ZeroTile(t Tile)
	LoadTile(t Tile, p Ptr, apart Int)
	StoreTile(p Ptr, apart Int, t Tile)
	// DotTile adds the products of signed bytes of a and unsigned bytes of b. To element j of row i
	// of the sums, which has 32 bits, it adds the products of four bytes of row i of a and the four
	// bytes of element j of a row of b, for all rows of b.
	DotTile(sums, a, b Tile)
	// DotSignedTile does the same as DotTile for signed bytes of both.
	DotSignedTile(sums, a, b Tile)
	// DotBFloat16Tile adds the products of bfloat16 numbers. For element j of row i of the sums, a
	// float32, it multiplies two numbers of row i of a by the two numbers of element j of a row of
	// b, for all rows of b. It adds up the products of first numbers in the order of rows, and
	// separately those of second numbers. Then it adds both sums, and adds the result to the
	// element. Each step rounds once to the nearest, ties to even. Denormal operands and sums count
	// as zero.
	DotBFloat16Tile(sums, a, b Tile)
}

// TileShapes is a configuration: the shapes of tiles.
type TileShapes interface {
	// Set sets the rows of a tile, at most 16, and the bytes of a row, at most 64.
	Set(t Tile, rows, bytes Int)
	// Configure makes the machine use these shapes from here on.
	Configure()
}
