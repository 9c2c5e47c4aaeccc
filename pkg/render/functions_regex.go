package render

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxPattern is the maximum length of a regular expression in bytes.
const maxPattern = 1000

// compilePattern compiles a regular expression. The error does not contain the expression, because it may
// contain values.
func compilePattern(v any) (*regexp.Regexp, error) {
	pattern, ok := v.(string)
	if !ok {
		return nil, errors.New("the regular expression must be a string, not " + kindOf(v))
	}
	if len(pattern) > maxPattern {
		return nil, errors.New("the regular expression is too long")
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, errNotRegex
	}
	return compiled, nil
}

// Bounds of what a short expression may compile to. (a{100}){10} is a thousand instructions, and
// Go's matcher stores every group for each of them.
const (
	maxInstructions = 2000
	maxGroups       = 20
)

var errNotRegex = errors.New("this is not a regular expression (RE2 syntax)")

var errTooComplex = errors.New("the regular expression is too complex")

// costOfMatch spends the units for one search of the pattern in the text, which are the first two
// arguments. Go's matcher executes at most every instruction for every byte that it reads.
func costOfMatch(b *budget, args []any) error {
	p, err := parsePattern(args[0])
	if err != nil {
		return err
	}
	searched, _ := args[1].(string)
	return b.spend(p.costPerByte * (len(searched) + callCost))
}

// costOfAllMatches spends the units for all searches of the pattern in the text. The search for one
// match can read far beyond it: with the pattern a.*x|a, to the end of the text for every a.
func costOfAllMatches(b *budget, args []any) error {
	if err := costOfMatch(b, args); err != nil {
		return err
	}
	p, err := parsePattern(args[0])
	if err != nil {
		return err
	}
	re, err := compilePattern(args[0])
	if err != nil {
		return err
	}
	searched, _ := args[1].(string)
	if p.hasAssertions {
		return costOfWholeSearches(b, p, re, searched)
	}
	for found := 0; found <= maxParts; found++ {
		reader := strings.NewReader(searched)
		match := re.FindReaderIndex(reader)
		if err := b.spend(p.costPerByte * (len(searched) - reader.Len() + callCost)); err != nil || match == nil {
			return err
		}
		end := match[1]
		if end == 0 {
			_, end = utf8.DecodeRuneInString(searched)
		}
		if end == 0 {
			return nil // the end of the text
		}
		searched = searched[end:]
	}
	return nil
}

// costOfWholeSearches spends the units for all searches as if each read the whole text. A part of a
// text cannot be searched for a pattern with assertions, because they depend on what is before it.
func costOfWholeSearches(b *budget, p pattern, re *regexp.Regexp, searched string) error {
	for most := 2; most <= 2*maxParts; most *= 2 {
		if err := b.spend(most * p.costPerByte * (len(searched) + callCost)); err != nil {
			return err
		}
		if len(re.FindAllStringIndex(searched, most)) < most {
			return nil
		}
	}
	return nil
}

// pattern describes the work of a regular expression.
type pattern struct {
	costPerByte   int
	hasAssertions bool // such as ^ and \b
}

// parsePattern returns an error for a regular expression that is too complex. It accepts what
// compilePattern rejects.
func parsePattern(v any) (p pattern, err error) {
	text, ok := v.(string)
	if !ok || len(text) > maxPattern {
		return p, nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, errNotRegex
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(compiled.Inst) > maxInstructions || parsed.MaxCap() > maxGroups {
		return p, errTooComplex
	}
	p.costPerByte = len(compiled.Inst) * (1 + compiled.NumCap/8)
	p.hasAssertions = slices.ContainsFunc(compiled.Inst, func(i syntax.Inst) bool { return i.Op == syntax.InstEmptyWidth })
	return p, nil
}

// withRegexp compiles the first argument and passes the others to f as strings.
func withRegexp(args []any, f func(re *regexp.Regexp, s []string) (any, error)) (any, error) {
	re, err := compilePattern(args[0])
	if err != nil {
		return nil, err
	}
	return withStrings(args[1:], func(s []string) (any, error) { return f(re, s) })
}

func fnRegexMatch(args []any) (any, error) {
	return withRegexp(args, func(re *regexp.Regexp, s []string) (any, error) { return re.MatchString(s[0]), nil })
}

func fnRegexFind(args []any) (any, error) {
	return withRegexp(args, func(re *regexp.Regexp, s []string) (any, error) { return re.FindString(s[0]), nil })
}

func fnRegexReplaceAll(args []any) (any, error) {
	return withRegexp(args, func(re *regexp.Regexp, s []string) (any, error) {
		return checkReplacement(re, s[0], func(match []int) int {
			return len(re.ExpandString(nil, s[1], s[0], match))
		}, func() string { return re.ReplaceAllString(s[0], s[1]) })
	})
}

func fnRegexReplaceAllLiteral(args []any) (any, error) {
	return withRegexp(args, func(re *regexp.Regexp, s []string) (any, error) {
		return checkReplacement(re, s[0], func([]int) int { return len(s[1]) },
			func() string { return re.ReplaceAllLiteralString(s[0], s[1]) })
	})
}

var errTooManyMatches = fmt.Errorf("replaces more than %d places", maxParts)

// checkReplacement checks the size of the result before it is built: every byte of a text can match, and
// every match can be replaced by the whole of another text.
func checkReplacement(re *regexp.Regexp, in string, width func(match []int) int, do func() string) (any, error) {
	size := 0
	matches := re.FindAllStringSubmatchIndex(in, maxParts+1)
	if len(matches) > maxParts {
		return nil, errTooManyMatches
	}
	for _, match := range matches {
		if size += width(match); size > MaxOutput {
			return nil, errTooMuchOutput
		}
	}
	return do(), nil
}

// fnRegexSplit splits like Sprig's: regexSplit expression text n. A negative n returns all parts.
func fnRegexSplit(args []any) (any, error) {
	n, err := toInt(args[2])
	if err != nil {
		return nil, err
	}
	return withRegexp(args[:2], func(re *regexp.Regexp, s []string) (any, error) {
		if n < 0 || n > maxParts {
			n = maxParts + 1
		}
		parts := re.Split(s[0], int(n))
		if len(parts) > maxParts {
			return nil, errTooManyParts
		}
		return anyList(parts), nil
	})
}
