package tile

import (
	"encoding/binary"
	"fmt"
)

// These are the limits of palette 1, the only palette.
const (
	tiles    = 8
	mostRows = 16
	mostRow  = 64 // bytes
)

// ConfigBytes is the size of a configuration in memory.
const ConfigBytes = 64

// These are the offsets of the fields of a configuration.
const (
	atPalette, atStartRow = 0, 1
	atReserved            = 2
	atColumns             = 16 // the bytes of a row of each tile, in 16 bits
	atRows                = 48
)

// Machine is the state of one thread: its configuration and the contents of its tiles. The zero
// Machine has the state after TILERELEASE.
type Machine struct {
	config [ConfigBytes]byte
	tiles  [tiles][mostRows][mostRow]byte
}

// Memory is the memory of a thread.
type Memory interface {
	// Read reads rows from their addresses, and Write writes them. They return a *Fault for memory
	// that they cannot access.
	Read(at []uint64, rows [][]byte) error
	Write(at []uint64, rows [][]byte) error
}

// Exception is the exception with which a processor refuses an instruction.
type Exception string

// These are the exceptions.
const (
	UD Exception = "#UD"
	GP Exception = "#GP"
	PF Exception = "#PF"
)

// Fault describes an instruction that was refused. It changed no state.
type Fault struct {
	Exception
	Addr   uint64 // for #PF
	Reason string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %s", f.Exception, f.Reason) }

func refuse(e Exception, format string, args ...any) error {
	return &Fault{Exception: e, Reason: fmt.Sprintf(format, args...)}
}

// InUse reports whether tiles are configured, like bits 17 and 18 of XGETBV with ECX = 1.
func (m *Machine) InUse() bool { return m.config[atPalette] != 0 }

// shape returns the number of rows of tile t and the number of bytes in a row.
func (m *Machine) shape(t int) (rows, bytes int) {
	return int(m.config[atRows+t]), int(binary.LittleEndian.Uint16(m.config[atColumns+2*t:]))
}

// Run executes an instruction. reg returns the contents of registers, and next is the address of
// the next instruction.
func (m *Machine) Run(i Instruction, reg func(n int) uint64, next uint64, mem Memory) error {
	switch i.Op {
	case LDTILECFG:
		var c [ConfigBytes]byte
		if err := mem.Read([]uint64{i.Mem.full(reg, next)}, [][]byte{c[:]}); err != nil {
			return err
		}
		return m.configure(c)
	case STTILECFG:
		return mem.Write([]uint64{i.Mem.full(reg, next)}, [][]byte{m.config[:]})
	case TILERELEASE:
		*m = Machine{}
		return nil
	}
	if err := m.valid(i.C); err != nil {
		return err
	}
	switch i.Op {
	case TILEZERO:
		m.tiles[i.C] = [mostRows][mostRow]byte{}
		return nil
	case TILELOADD, TILELOADDT1:
		fresh := [mostRows][mostRow]byte{}
		at, rows := m.rowsOf(i.C, &fresh, i.Mem.Of(reg, next), i.Mem.Stride(reg))
		if err := mem.Read(at, rows); err != nil {
			return err
		}
		m.tiles[i.C] = fresh
		return nil
	case TILESTORED:
		return mem.Write(m.rowsOf(i.C, &m.tiles[i.C], i.Mem.Of(reg, next), i.Mem.Stride(reg)))
	}
	return m.product(i)
}

// full returns the address with its index.
func (m Address) full(reg func(n int) uint64, next uint64) uint64 {
	return m.Of(reg, next) + m.Stride(reg)
}

// configure executes LDTILECFG.
func (m *Machine) configure(c [ConfigBytes]byte) error {
	if c[atPalette] == 0 {
		*m = Machine{}
		return nil
	}
	if c[atPalette] != 1 {
		return refuse(GP, "palette %d", c[atPalette])
	}
	if c[atStartRow] != 0 {
		return refuse(GP, "start row %d: only an interrupted instruction has one", c[atStartRow])
	}
	for i, b := range c {
		inColumns, inRows := i >= atColumns && i < atColumns+2*tiles, i >= atRows && i < atRows+tiles
		if i >= atReserved && !inColumns && !inRows && b != 0 {
			return refuse(GP, "byte %d of the configuration is %d: reserved", i, b)
		}
	}
	fresh := Machine{config: c}
	for t := range tiles {
		rows, bytes := fresh.shape(t)
		if rows > mostRows || bytes > mostRow || (rows == 0) != (bytes == 0) {
			return refuse(GP, "tile %d: %d rows of %d bytes", t, rows, bytes)
		}
	}
	*m = fresh
	return nil
}

// valid returns an error for a tile that the configuration does not have.
func (m *Machine) valid(t int) error {
	if !m.InUse() {
		return refuse(UD, "tile %d without a configuration", t)
	}
	if rows, _ := m.shape(t); rows == 0 {
		return refuse(UD, "tile %d is not in the configuration", t)
	}
	return nil
}

// rowsOf returns the addresses of a tile's rows in memory, and the rows.
func (m *Machine) rowsOf(t int, of *[mostRows][mostRow]byte, from, stride uint64) (at []uint64, rows [][]byte) {
	n, bytes := m.shape(t)
	for r := range n {
		at, rows = append(at, from+uint64(r)*stride), append(rows, of[r][:bytes])
	}
	return at, rows
}
