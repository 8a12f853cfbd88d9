package vec

// The words of tiles: registers of rows, which multiply as matrices.

// Tile is a tile register by its number. It is a type of its own, and the kernel gives out the numbers: a tile is not a vector, has the shape
// that a configuration says, and never moves to a vector but by memory.
type Tile uint8

// Tiles is a Machine with tiles. Before the first of them is used there must be a configuration, and configuring clears
// all of them; generated functions release them before they return.
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
}

// TileShapes are the shapes of tiles, as data.
type TileShapes interface {
	// Set is the rows of a tile, at most 16, and the bytes of a row, at most 64.
	Set(t Tile, rows, bytes Int)
	// Configure has these shapes hold from here on.
	Configure()
}
