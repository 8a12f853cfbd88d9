package arm64

// This file has loads and stores.

// memory checks an offset and returns the registers that m reads and writes. An access has size
// bytes. Offsets that one instruction can have are -256 to 255, and multiples of size up to
// 4095*size.
func (f *Function) memory(op string, m Mem, size int) (reads, writes []*register) {
	unscaled := m.disp >= -256 && m.disp <= 255
	scaled := m.disp >= 0 && m.disp%size == 0 && m.disp/size <= 4095
	if !unscaled && (m.post || !scaled) {
		f.errorf("%s: offset %d is out of reach of one instruction", op, m.disp)
	}
	return m.registers()
}

func (m Mem) registers() (reads, writes []*register) {
	if m.post {
		writes = []*register{m.base.r}
	}
	return []*register{m.base.r}, writes
}

func (f *Function) load(op string, m Mem, size int, d operand, dr *register) {
	reads, writes := f.memory(op, m, size)
	f.add(node{op: op + m.suffix(), args: []operand{m, d}, reads: reads, writes: append(writes, dr)})
}

func (f *Function) store(op string, s operand, sr *register, m Mem, size int) {
	reads, writes := f.memory(op, m, size)
	f.add(node{op: op + m.suffix(), args: []operand{s, m}, reads: append(reads, sr), writes: writes})
}

// MOVDLoad sets d to 64 bits of memory.
func (f *Function) MOVDLoad(m Mem, d GP) { f.load("MOVD", m, 8, d, d.r) }

// MOVDStore stores the 64 bits of s.
func (f *Function) MOVDStore(s GP, m Mem) { f.store("MOVD", s, s.r, m, 8) }

// MOVHULoad sets d to 16 bits of memory, and all bits above to 0.
func (f *Function) MOVHULoad(m Mem, d GP) { f.load("MOVHU", m, 2, d, d.r) }

// MOVBLoad sets d to 8 bits of memory, sign extended.
func (f *Function) MOVBLoad(m Mem, d GP) { f.load("MOVB", m, 1, d, d.r) }

// FMOVQ sets d to 128 bits of memory.
func (f *Function) FMOVQ(m Mem, d Vec) { f.load("FMOVQ", m, 16, d, d.r) }

// FMOVD sets d to 64 bits of memory, and all bits above to 0.
func (f *Function) FMOVD(m Mem, d Vec) { f.load("FMOVD", m, 8, d, d.r) }

// FMOVS sets d to 32 bits of memory, and all bits above to 0.
func (f *Function) FMOVS(m Mem, d Vec) { f.load("FMOVS", m, 4, d, d.r) }

// FMOVQStore stores the 128 bits of s.
func (f *Function) FMOVQStore(s Vec, m Mem) { f.store("FMOVQ", s, s.r, m, 16) }

// FMOVDStore stores the low 64 bits of s.
func (f *Function) FMOVDStore(s Vec, m Mem) { f.store("FMOVD", s, s.r, m, 8) }

// FMOVSStore stores lane 0 of s, 32 bits.
func (f *Function) FMOVSStore(s Vec, m Mem) { f.store("FMOVS", s, s.r, m, 4) }

func (f *Function) pairOffset(op string, m Mem) {
	if m.disp%16 != 0 || m.disp < -1024 || m.disp > 1008 {
		f.errorf("%s: offset %d, want a multiple of 16 from -1024 to 1008", op, m.disp)
	}
}

// FLDPQ sets a and b to two times 128 bits of consecutive memory.
func (f *Function) FLDPQ(m Mem, a, b Vec) {
	f.pairOffset("FLDPQ", m)
	if a == b {
		f.errorf("FLDPQ: both destinations are the same register")
	}
	reads, writes := m.registers()
	f.add(node{op: "FLDPQ" + m.suffix(), args: []operand{m, pair{a, b}}, reads: reads, writes: append(writes, a.r, b.r)})
}

// FSTPQ stores a and b, two times 128 bits, in consecutive memory.
func (f *Function) FSTPQ(a, b Vec, m Mem) {
	f.pairOffset("FSTPQ", m)
	reads, writes := m.registers()
	f.add(node{op: "FSTPQ" + m.suffix(), args: []operand{pair{a, b}, m}, reads: append(reads, a.r, b.r), writes: writes})
}

// plain checks that m is a register with no offset.
func (f *Function) plain(op string, m Mem) []*register {
	if m.disp != 0 || m.post {
		f.errorf("%s: takes no offset", op)
	}
	return []*register{m.base.r}
}

// VLD1R sets every lane of d to one element of memory.
func (f *Function) VLD1R(m Mem, d Arranged) {
	f.add(node{op: "VLD1R", args: []operand{m, list{d}}, reads: f.plain("VLD1R", m), writes: []*register{d.v.r}})
}

// VLD1Lane loads one lane of d; the other lanes keep their values.
func (f *Function) VLD1Lane(m Mem, d Element) {
	f.lane("VLD1", d)
	f.add(node{op: "VLD1", args: []operand{m, d}, reads: append(f.plain("VLD1", m), d.v.r), writes: []*register{d.v.r}})
}

// VST1Lane stores one lane of s.
func (f *Function) VST1Lane(s Element, m Mem) {
	f.lane("VST1", s)
	f.add(node{op: "VST1", args: []operand{s, m}, reads: append(f.plain("VST1", m), s.v.r)})
}

// lane checks that a lane exists.
func (f *Function) lane(op string, e Element) {
	if n := 128 / elementBits[e.size]; e.lane < 0 || e.lane >= n {
		f.errorf("%s: lane %d of %c, want 0 to %d", op, e.lane, e.size, n-1)
	}
}
