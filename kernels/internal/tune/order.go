package tune

// Orders decide whether a product consists of dot products, whose sums have another order than chains. They are the same on
// every machine: package order has the rest of what decides the order of a sum.
type Orders struct {
	// A product with B^T in place is dot products up to DotRowsMin rows of A, and up to DotRowsMax where k
	// is long and A of at most DotElements.
	DotRowsMin  int `unit:"rows of A" at:"products: No packing, no transposing, up to k/8 rows (12 to 64)" on:"zen4"`
	DotRowsMax  int `unit:"rows of A" at:"products: panels instead of dot products for 24 to 64 rows, nt" on:"zen4"`
	DotElements int `unit:"elements of A" at:"products: while A has at most 2^16 elements" on:"zen4"`
}

// Order is the figures of Orders.
var Order = Orders{DotRowsMin: 12, DotRowsMax: 64, DotElements: 1 << 16}
