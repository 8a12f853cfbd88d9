package tokenizer

import (
	"bytes"
	"math"
	"strconv"
)

// Truth values and numbers in JSON.

func (v value) bool() (b, ok bool) {
	switch string(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// uint32 returns the value of a number without a sign, a fraction and an exponent.
func (v value) uint32() (uint32, bool) {
	n, err := strconv.ParseUint(string(v), 10, 32)
	return uint32(n), err == nil
}

// float returns a number with serde_json's rounding: as many digits as fit in 64 bits, times a
// power of ten.
func (v value) float() (float64, bool) {
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	in, sign := v, 1.0
	if in[0] == '-' {
		in, sign = in[1:], -1
	}
	var digits uint64
	exponent, fraction, full := 0, false, false
	i := 0
	for ; i < len(in) && in[i] != 'e' && in[i] != 'E'; i++ {
		if in[i] == '.' {
			fraction = true
			continue
		}
		d := uint64(in[i] - '0')
		if full = full || digits > (math.MaxUint64-d)/10; full {
			if !fraction {
				exponent++
			}
			continue
		}
		digits = digits*10 + d
		if fraction {
			exponent--
		}
	}
	if i < len(in) {
		e, err := strconv.Atoi(string(bytes.TrimPrefix(in[i+1:], []byte("+"))))
		if err != nil || e > 1e6 || e < -1e6 {
			return 0, false
		}
		exponent += e
	}
	f := float64(digits)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch {
	case f == 0:
	case exponent > 308:
		return 0, false
	case exponent >= 0:
		f *= powersOfTen[exponent]
	default:
		f /= powersOfTen[-exponent]
	}
	return sign * f, !math.IsInf(f, 0)
}

var powersOfTen = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return p
}()
