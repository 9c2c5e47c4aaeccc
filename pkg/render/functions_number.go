package render

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toInt converts a value to an integer. Numbers lose their fraction, and strings are parsed as
// decimal, because inputs are always strings.
func toInt(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float64:
		if math.Abs(v) < math.MaxInt64 {
			return int64(v), nil
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, nil
		}
		return 0, errors.New("the string is not a whole number")
	}
	return 0, errors.New("wants a whole number, not " + kindOf(v))
}

func fnInt(args []any) (any, error) { return toInt(args[0]) }

// foldInts computes with exact numbers. It fails if the result does not fit into 64 bits, instead of
// overflowing.
func foldInts(args []any, step func(acc, n *big.Int) error) (any, error) {
	var acc *big.Int
	for _, arg := range args {
		n, err := toInt(arg)
		if err != nil {
			return nil, err
		}
		if acc == nil {
			acc = big.NewInt(n)
			continue
		}
		if err := step(acc, big.NewInt(n)); err != nil {
			return nil, err
		}
		if !acc.IsInt64() {
			return nil, errors.New("the result is too large")
		}
	}
	return acc.Int64(), nil
}

func fnAdd(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error { acc.Add(acc, n); return nil })
}

func fnSub(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error { acc.Sub(acc, n); return nil })
}

func fnMul(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error { acc.Mul(acc, n); return nil })
}

var errDivideByZero = errors.New("division by zero")

func fnDiv(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error {
		if n.Sign() == 0 {
			return errDivideByZero
		}
		acc.Quo(acc, n)
		return nil
	})
}

func fnMod(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error {
		if n.Sign() == 0 {
			return errDivideByZero
		}
		acc.Rem(acc, n)
		return nil
	})
}

func fnMin(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error {
		if n.Cmp(acc) < 0 {
			acc.Set(n)
		}
		return nil
	})
}

func fnMax(args []any) (any, error) {
	return foldInts(args, func(acc, n *big.Int) error {
		if n.Cmp(acc) > 0 {
			acc.Set(n)
		}
		return nil
	})
}

// toFloat converts a value to a float.
func toFloat(v any) (float64, error) {
	if s, ok := v.(string); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, errors.New("the string is not a number")
		}
		return f, nil
	}
	if f, ok := asFloat(v); ok {
		return f, nil
	}
	return 0, errors.New("wants a number, not " + kindOf(v))
}

func fnFloat64(args []any) (any, error) { return toFloat(args[0]) }
func fnAdd1(args []any) (any, error)    { return fnAdd([]any{args[0], int64(1)}) }

// roundingFunc returns a function that rounds a number so that JSON writes it without a fraction.
func roundingFunc(how func(float64) float64) func(args []any) (any, error) {
	return func(args []any) (any, error) {
		f, err := toFloat(args[0])
		if err != nil {
			return nil, err
		}
		return normalizeFloat(how(f))
	}
}

// fnRound rounds half away from zero: round number digits.
func fnRound(args []any) (any, error) {
	const most = 15 // decimal digits of precision of a float64
	f, err := toFloat(args[0])
	if err != nil {
		return nil, err
	}
	digits, err := toInt(args[1])
	if err != nil || digits < 0 || digits > most {
		return nil, errors.New("the second argument is the number of digits, up to " + strconv.Itoa(most))
	}
	scale := math.Pow10(int(digits))
	return normalizeFloat(math.Round(f*scale) / scale)
}
