package vec

// The words of products, whose sums are tiles of C in registers.

// Tiler is a Machine with the words of products.
type Tiler interface {
	Jumper

	// KeepInt and KeepPtr keep an int parameter, or the address of a slice, across all tiles: in a
	// register, or in the frame where there are few.
	KeepInt(param string) Kept
	KeepPtr(param string) Kept
	// Leading is a parameter, a distance of rows, that is looked at now and then: its function gives it in a register, which
	// it stays in where there are enough. It is not to be written to.
	Leading(param string) func() Int

	// Rows are the next n rows of what is kept, ld elements of some bytes apart. Lanes are rows
	// from which lanes are taken, one after the other, 4 bytes each; what is kept may go past them
	// already, and AddRows of as many then adds nothing.
	Rows(rows Kept, ld func() Int, size, n int) Rows
	Lanes(rows Kept, ld func() Int, size, n int) Lanes
	// Column is n lanes side by side at p, which are those of n rows.
	Column(p Ptr, n int) Lanes
	// Beside is the address n bytes after p. It is p's, and does not follow it.
	Beside(p Ptr, n Int) Ptr

	// MultiplyTo is n *= k, in place, for a power of two.
	MultiplyTo(n Int, k int)
	// Number is k in a register.
	Number(k int) Int
	// TakeAtMost takes the lesser of k and most, which it returns, from k.
	TakeAtMost(k, most Int) Int
	// CountDown takes k from n and branches as what that leaves compares with 0.
	CountDown(n Int, k int, c Cond, label string)
	// BranchIfZero and BranchUnlessZero look at an integer, and BranchIfParam at a parameter that is
	// not 0, or is.
	BranchIfZero(n Int, label string)
	BranchUnlessZero(n Int, label string)
	BranchIfParam(param string, zero bool, label string)

	// After is the address off bytes after p, and CopyPtrTo overwrites dst with src.
	After(p Ptr, off int) Ptr
	CopyPtrTo(dst, src Ptr)

	// LoadTwo and StoreTwo are for two vectors, and LoadTo loads one into dst. LoadLanes is n lanes, a power of
	// two below Width; others hold anything finite.
	LoadTwo(p Ptr, off int) (V, V)
	StoreTwo(p Ptr, off int, a, b V)
	LoadTo(dst V, p Ptr, off int)
	LoadLanes(p Ptr, n int) V
	// AddLoad is acc += the vector at p + off.
	AddLoad(acc V, p Ptr, off int)
	// MulLane is l*b, MulLaneTo acc *= l, and FMALane acc += l*b.
	MulLane(l Lane, b V) V
	MulLaneTo(acc V, l Lane)
	FMALane(acc V, l Lane, b V)

	// What follows takes the lanes of vectors as integers of 32 bits, which wrap around.

	// SpreadInt is the integer at p + off in every lane.
	SpreadInt(p Ptr, off int) V
	// IntToFloat makes floats of integers, in place.
	IntToFloat(v V)
	// LoadUint8 is LoadInt8 for bytes without a sign.
	LoadUint8(p Ptr, off int) V
	// ShiftRight shifts zeros in, and ShiftRightTo, in place, the sign.
	ShiftRight(v V, bits int) V
	ShiftRightTo(v V, bits int)
	// AndInt and OrIntTo work on the bits.
	AndInt(a, b V) V
	OrIntTo(acc, b V)
	// LoadPowers is 2 to the power of bytes less 128, as floats, for a vector of bytes at p + off.
	LoadPowers(p Ptr, off int) V
	// Table is 16 bytes, and LookUp has for the bytes of v, each below 16, those of a table.
	Table(name string, b [16]byte) V
	LookUp(table, v V) V
	// CountBytes prepares to count the bits of every byte. What counts consumes v.
	CountBytes() func(v V) V
	// UpperHalves is the upper 4 bits of every byte; ones has the lower 4 set. It consumes v.
	UpperHalves(v, ones V) V
	// DotQuads adds four products, of a byte of l, which has a sign, and a byte of b, to each lane of acc.
	// QuadsSigned says whether those of b have one.
	DotQuads(acc V, l Lane, b V)
	QuadsSigned() bool
}

// Kept is a parameter that is kept across tiles.
type Kept interface {
	// Int and Ptr are a copy.
	Int() Int
	Ptr() Ptr
	// Add adds to it, and AddRows n times ld elements of some bytes.
	Add(k int)
	AddRows(n int, ld Int, size int)
}

// Rows are rows of a matrix, for which there may be more than there are registers.
type Rows interface {
	// Begin begins with the first row again, and Row, asked for in order, is the address of one.
	Begin()
	Row(i int) Ptr
}

// Lanes are rows from which lanes are taken.
type Lanes interface {
	// Load reads n lanes of each row, 1 or a multiple of 4, where a machine multiplies with lanes of a
	// vector; first is how many there are before them since Next.
	Load(first, n int)
	// Lane is lane j, counted from Next, of row i. It is to be asked for just before it is used: others read it
	// now, into every lane of a vector.
	Lane(i, j int) Lane
	// Next goes on by n lanes.
	Next(n int)
}

// Lane is a number that multiplies every lane of a vector.
type Lane struct {
	Reg any
	N   int // which lane, where it is one of a vector's
}

// InTurn are rows from p on, for which a machine has too few registers: one goes from row to row.
func InTurn(m Machine, p Ptr, ld Int, size int) Rows { return &inTurn{m: m, p: p, ld: ld, size: size} }

type inTurn struct {
	m    Machine
	p    Ptr
	ld   Int
	size int

	at  Ptr
	row int
}

func (r *inTurn) Begin() { r.at, r.row = r.m.CopyPtr(r.p), 0 }

func (r *inTurn) Row(i int) Ptr {
	for ; r.row < i; r.row++ {
		r.m.BumpBytes(r.at, r.ld, r.size)
	}
	return r.at
}
