package vec

// This file has the vocabulary of products, whose sums are tiles of C in registers.

// Tiler is a Machine with the vocabulary of products.
type Tiler interface {
	Jumper

	// KeepInt and KeepPtr keep an int parameter, or the address of a slice, across all tiles: in a
	// register, or in the frame if registers are few.
	KeepInt(param string) Kept
	KeepPtr(param string) Kept
	// Leading returns access to a parameter that is a distance of rows. The function returns it in
	// a register, which holds it throughout if there are enough registers. The caller must not
	// write to the register.
	Leading(param string) func() Int

	// Rows returns the next n rows at the kept address, ld elements of size bytes apart. Lanes
	// returns rows whose lanes are used one after the other, 4 bytes each, and begins with none of
	// them.
	Rows(rows Kept, ld func() Int, size, n int) Rows
	Lanes(rows Kept, ld func() Int, size, n int) Lanes
	// Column returns the n lanes at p, one for each of n rows.
	Column(p Ptr, n int) Column
	// Beside returns the address n bytes after p. Use it before p changes: on some machines the
	// result depends on p.
	Beside(p Ptr, n Int) Ptr

	// MultiplyTo multiplies n by k in place. k is a power of two.
	MultiplyTo(n Int, k int)
	// Number returns k in a register.
	Number(k int) Int
	// TakeAtMost returns the smaller of k and most, and subtracts it from k.
	TakeAtMost(k, most Int) Int
	// CountDown subtracts k from n, and branches if the result compares with 0 as c says.
	CountDown(n Int, k int, c Cond, label string)
	// BranchIfZero and BranchUnlessZero test an integer, and BranchIfParam a parameter: it branches
	// if the parameter is 0, or unless it is.
	BranchIfZero(n Int, label string)
	BranchUnlessZero(n Int, label string)
	BranchIfParam(param string, zero bool, label string)

	// Undefine makes the contents of vectors arbitrary, although later instructions read them.
	Undefine(vs ...V)

	// After returns the address off bytes after p, and CopyPtrTo overwrites dst with src.
	After(p Ptr, off int) Ptr
	CopyPtrTo(dst, src Ptr)

	// LoadTwo and StoreTwo access two vectors, and LoadTo loads one into dst. LoadLanes loads n
	// lanes, a power of two below Width; the other lanes hold arbitrary finite numbers.
	LoadTwo(p Ptr, off int) (V, V)
	StoreTwo(p Ptr, off int, a, b V)
	LoadTo(dst V, p Ptr, off int)
	LoadLanes(p Ptr, n int) V
	// AddLoad adds the vector at p + off to acc.
	AddLoad(acc V, p Ptr, off int)
	// MulLane returns l*b, MulLaneTo multiplies acc by l, and FMALane adds l*b to acc.
	MulLane(l Lane, b V) V
	MulLaneTo(acc V, l Lane)
	FMALane(acc V, l Lane, b V)

	// The operations below treat lanes as integers of 32 bits, which wrap around.

	// SpreadInt loads the integer at p + off into every lane.
	SpreadInt(p Ptr, off int) V
	// IntToFloat converts integers to floats in place.
	IntToFloat(v V)
	// LoadUint8 does the same as LoadInt8 for unsigned bytes.
	LoadUint8(p Ptr, off int) V
	// ShiftRight shifts zeros in. ShiftRightTo works in place and shifts the sign in.
	ShiftRight(v V, bits int) V
	ShiftRightTo(v V, bits int)
	// AndInt and OrIntTo are bitwise.
	AndInt(a, b V) V
	OrIntTo(acc, b V)
	// LoadPowers loads a vector of bytes at p + off and returns 2^(b-128) for each byte b, as
	// floats.
	LoadPowers(p Ptr, off int) V
	// Table returns a table of 16 bytes. LookUp replaces each byte of v, which must be below 16, by
	// that entry of the table.
	Table(name string, b [16]byte) V
	LookUp(table, v V) V
	// CountBytes prepares a function that counts the set bits of every byte. The function consumes
	// v.
	CountBytes() func(v V) V
	// UpperHalves returns the upper 4 bits of every byte; ones has the lower 4 bits set. It
	// consumes v.
	UpperHalves(v, ones V) V
	// DotQuads adds four products of a signed byte of l and a byte of b to each lane of acc.
	// QuadsSigned reports whether the bytes of b are signed.
	DotQuads(acc V, l Lane, b V)
	QuadsSigned() bool
}

// Kept is a parameter that is kept across tiles.
type Kept interface {
	// Int and Ptr return a copy.
	Int() Int
	Ptr() Ptr
	// Put replaces it. Add adds k, and AddRows adds n times ld elements of size bytes.
	Put(n Int)
	Add(k int)
	AddRows(n int, ld Int, size int)
}

// Rows is a number of rows of a matrix, which may exceed the number of registers.
type Rows interface {
	// Begin starts with the first row again. Row returns the address of a row; callers ask for rows
	// in order.
	Begin()
	Row(i int) Ptr
}

// Lanes is a number of rows whose lanes are used one after the other.
type Lanes interface {
	// Begin starts the next row. It may move the kept address past the row. Passed, after all
	// rows, makes sure of that: h is their number.
	Begin()
	Passed(h Int)
	// Take makes Load and Next apply to the first n rows. It emits no instruction.
	Take(n int)
	// Load loads n lanes of each row, 1 or a multiple of 4, on a machine that multiplies by lanes
	// of a vector; first is the index of the first of them, counted from Next.
	Load(first, n int)
	// Lane returns lane j, counted from Next, of row i. Ask for it just before its use: other
	// machines load it at that point, into every lane of a vector.
	Lane(i, j int) Lane
	// Next advances by n lanes.
	Next(n int)
}

// Column is a lane for each of some rows; j is 0.
type Column interface{ Lane(i, j int) Lane }

// Lane is a number that multiplies every lane of a vector.
type Lane struct {
	Reg any
	N   int // index of the lane, if Reg is a vector
}

// InTurn returns rows from p on for a machine with too few registers: one address moves from row to
// row.
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
