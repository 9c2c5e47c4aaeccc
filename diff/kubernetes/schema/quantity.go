package schema

import (
	"math/big"
	"strconv"
	"strings"
)

// decimal is digits × 10^exponent, with neither leading nor trailing zeros in digits;
// "" is zero. It holds any number without expanding it, so that 1e999999999 is cheap.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// maxExponent prevents overflow in sums of exponents and lengths.
const maxExponent = 1 << 60

// equalNumbers reports whether two JSON numbers are equal.
func equalNumbers(a, b string) bool {
	x, okX := parseNumber(a)
	y, okY := parseNumber(b)
	return okX && okY && x == y
}

func parseNumber(text string) (decimal, bool) {
	d, suffix, ok := parseMantissa(text)
	if !ok {
		return decimal{}, false
	}
	if suffix == "" {
		return d, true
	}
	return d.withExponent(suffix)
}

// parseMantissa reads a sign and digits with an optional point, and returns what follows.
func parseMantissa(text string) (d decimal, suffix string, ok bool) {
	rest := text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		d.negative = rest[0] == '-'
		rest = rest[1:]
	}
	end := digitsIn(rest)
	whole, fraction := rest[:end], ""
	if rest = rest[end:]; strings.HasPrefix(rest, ".") {
		end = digitsIn(rest[1:])
		fraction, rest = rest[1:1+end], rest[1+end:]
	}
	if whole == "" && fraction == "" {
		return decimal{}, "", false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, rest, true
	}
	d.exponent = int64(len(digits) - len(d.digits) - len(fraction))
	return d, rest, true
}

func digitsIn(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }

// withExponent adds e3, E-3 or e+3.
func (d decimal) withExponent(text string) (decimal, bool) {
	if len(text) < 2 || text[0] != 'e' && text[0] != 'E' {
		return decimal{}, false
	}
	n, err := strconv.ParseInt(text[1:], 10, 64)
	if err != nil || n > maxExponent || n < -maxExponent {
		return decimal{}, false
	}
	return d.times10(n), true
}

func (d decimal) times10(n int64) decimal {
	if d.digits != "" {
		d.exponent += n
	}
	return d
}

// quantity is a decimal × 2^power.
type quantity struct {
	decimal
	power uint
}

// parseQuantity parses a quantity:
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
func parseQuantity(text string) (quantity, bool) {
	d, suffix, ok := parseMantissa(text)
	if !ok {
		return quantity{}, false
	}
	if n := strings.Index("KMGTPE", strings.TrimSuffix(suffix, "i")); n >= 0 && len(suffix) == 2 && suffix[1] == 'i' {
		return quantity{d, uint(10 * (n + 1))}, true
	}
	if n := strings.Index("num kMGTPE", suffix); n >= 0 && len(suffix) == 1 && suffix != " " {
		return quantity{d.times10(int64(3*n - 9)), 0}, true
	}
	if suffix != "" {
		d, ok = d.withExponent(suffix)
	}
	return quantity{d, 0}, ok
}

func equalQuantities(a, b string) bool {
	x, okX := parseQuantity(a)
	y, okY := parseQuantity(b)
	switch {
	case !okX || !okY:
		return false
	case x.power == y.power || x.digits == "" || y.digits == "":
		return x.decimal == y.decimal
	}
	return x.small() && y.small() && x.rational().Cmp(y.rational()) == 0
}

// small reports whether the number can be expanded. A binary suffix adds at
// most 60 bits, so every number that a server accepts is small.
func (q quantity) small() bool {
	const limit = 100
	return len(q.digits) <= limit && q.exponent >= -limit && q.exponent <= limit
}

func (q quantity) rational() *big.Rat {
	n, _ := new(big.Int).SetString(q.digits, 10)
	n.Lsh(n, q.power)
	if q.negative {
		n.Neg(n)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(q.exponent, -q.exponent)), nil)
	if q.exponent < 0 {
		return new(big.Rat).SetFrac(n, scale)
	}
	return new(big.Rat).SetInt(n.Mul(n, scale))
}
