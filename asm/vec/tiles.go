package vec

// The words of tiles: registers of rows, which multiply as matrices.

// Tile is a tile register by its number, which the kernel chooses. A tile is not a vector: it has the shape that a
// configuration gives it, and reaches vectors only through memory.
type Tile uint8

// Tiles is a Machine with tiles. A configuration must come before their first use, and configuring clears all of them. Generated
// functions release them before they return.
type Tiles interface {
	Tiler
	// TileShapes is a configuration in the frame in which no tile has a shape.
	TileShapes() TileShapes
	// ZeroTile clears a tile, LoadTile reads its rows, which begin at p and are some bytes apart, and StoreTile writes them.
	ZeroTile(t Tile)
	LoadTile(t Tile, p Ptr, apart Int)
	StoreTile(p Ptr, apart Int, t Tile)
	// DotTile adds the products of bytes with a sign, of a, and without, of b: element j of row i of the sums, 32 bits, takes
	// four bytes of row i of a, and the four of element j of a row of b, for all rows of b.
	DotTile(sums, a, b Tile)
	// DotBFloat16Tile adds the products of bfloat16 numbers: element j of row i of the sums, a float32, takes two numbers of row i of a, and
	// the two of element j of a row of b, for all rows of b. The products of first numbers are summed up in the order of rows, and so are those of
	// second numbers; then both sums are added, and that is added to the element. Each step rounds once to the nearest, ties to
	// even. Denormal numbers, operands and sums alike, count as zero.
	DotBFloat16Tile(sums, a, b Tile)
}

// TileShapes are the shapes of tiles, as data.
type TileShapes interface {
	// Set is the rows of a tile, at most 16, and the bytes of a row, at most 64.
	Set(t Tile, rows, bytes Int)
	// Configure has these shapes hold from here on.
	Configure()
}
