package render

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"sync"
	"text/template"
)

// function is one allowed function. The order of arguments is that of Sprig, because existing
// configs are written for it.
type function struct {
	min, max int // number of arguments; max < 0 means any number
	run      func(args []any) (any, error)
	// shallow functions read only the top level of their arguments. All others spend units for the
	// whole size of their arguments before they run.
	shallow bool
	// number is true if the result is always a number, so that a range over it can be rejected when
	// the template is parsed.
	number bool
	// cost spends the units of work beyond reading the arguments once; nil means none.
	cost func(b *budget, args []any) error
}

// functionError is the error of an allowed function. It never contains a value, so it can be shown
// to anyone.
type functionError struct {
	name string
	err  error
}

func (e *functionError) Error() string { return e.name + ": " + e.err.Error() }
func (e *functionError) Unwrap() error { return e.err }

// functions is the allow-list. `and` and `or` are not in it: they are built into text/template,
// which stops at the first argument that decides the result.
var functions = map[string]function{
	"default":   {min: 2, max: 2, run: fnDefault, shallow: true},
	"all":       {min: 0, max: -1, run: fnAll, shallow: true},
	"any":       {min: 0, max: -1, run: fnAny, shallow: true},
	"fail":      {min: 1, max: 1, run: fnFail, shallow: true},
	"kindOf":    {min: 1, max: 1, run: fnKindOf, shallow: true},
	"kindIs":    {min: 2, max: 2, run: fnKindIs, shallow: true},
	"coalesce":  {min: 1, max: -1, run: fnCoalesce, shallow: true},
	"empty":     {min: 1, max: 1, run: fnEmpty, shallow: true},
	"ternary":   {min: 3, max: 3, run: fnTernary, shallow: true},
	"not":       {min: 1, max: 1, run: fnNot, shallow: true},
	"eq":        {min: 2, max: -1, run: fnEq},
	"ne":        {min: 2, max: 2, run: fnNe},
	"lt":        {min: 2, max: 2, run: comparison(func(c int) bool { return c < 0 })},
	"le":        {min: 2, max: 2, run: comparison(func(c int) bool { return c <= 0 })},
	"gt":        {min: 2, max: 2, run: comparison(func(c int) bool { return c > 0 })},
	"ge":        {min: 2, max: 2, run: comparison(func(c int) bool { return c >= 0 })},
	"deepEqual": {min: 2, max: 2, run: fnDeepEqual},

	"dict":      {min: 0, max: -1, run: fnDict, shallow: true},
	"list":      {min: 0, max: -1, run: fnList, shallow: true},
	"tuple":     {min: 0, max: -1, run: fnList, shallow: true},
	"get":       {min: 2, max: 2, run: fnGet, shallow: true},
	"pluck":     {min: 1, max: -1, run: fnPluck, shallow: true},
	"pick":      {min: 1, max: -1, run: fnPick},
	"omit":      {min: 1, max: -1, run: fnOmit},
	"merge":     {min: 1, max: -1, run: fnMerge},
	"append":    {min: 2, max: 2, run: fnAppend},
	"prepend":   {min: 2, max: 2, run: fnPrepend},
	"rest":      {min: 1, max: 1, run: fnRest},
	"initial":   {min: 1, max: 1, run: fnInitial},
	"reverse":   {min: 1, max: 1, run: fnReverse},
	"compact":   {min: 1, max: 1, run: fnCompact},
	"without":   {min: 1, max: -1, run: fnWithout},
	"slice":     {min: 1, max: 3, run: fnSlice},
	"dig":       {min: 3, max: -1, run: fnDig, shallow: true},
	"index":     {min: 1, max: -1, run: fnIndex, shallow: true},
	"hasKey":    {min: 2, max: 2, run: fnHasKey, shallow: true},
	"has":       {min: 2, max: 2, run: fnHas},
	"keys":      {min: 1, max: -1, run: fnKeys},
	"values":    {min: 1, max: 1, run: fnValues},
	"first":     {min: 1, max: 1, run: fnFirst, shallow: true},
	"last":      {min: 1, max: 1, run: fnLast, shallow: true},
	"concat":    {min: 1, max: -1, run: fnConcat},
	"uniq":      {min: 1, max: 1, run: fnUniq},
	"sortAlpha": {min: 1, max: 1, run: fnSortAlpha},
	"len":       {min: 1, max: 1, run: fnLen, shallow: true, number: true},

	"join":       {min: 2, max: 2, run: fnJoin},
	"split":      {min: 2, max: 2, run: fnSplit},
	"splitList":  {min: 2, max: 2, run: fnSplitList},
	"upper":      {min: 1, max: 1, run: fnUpper},
	"lower":      {min: 1, max: 1, run: fnLower},
	"trim":       {min: 1, max: 1, run: fnTrim},
	"trimPrefix": {min: 2, max: 2, run: fnTrimPrefix},
	"trimSuffix": {min: 2, max: 2, run: fnTrimSuffix},
	"hasPrefix":  {min: 2, max: 2, run: fnHasPrefix},
	"hasSuffix":  {min: 2, max: 2, run: fnHasSuffix},
	"contains":   {min: 2, max: 2, run: fnContains},
	"replace":    {min: 3, max: 3, run: fnReplace},
	"quote":      {min: 0, max: -1, run: fnQuote},
	"squote":     {min: 0, max: -1, run: fnSquote},
	"indent":     {min: 2, max: 2, run: fnIndent},
	"nindent":    {min: 2, max: 2, run: fnNindent},
	"printf":     {min: 1, max: -1, run: fnPrintf},
	"print":      {min: 0, max: -1, run: fnPrint},
	"println":    {min: 0, max: -1, run: fnPrintln},
	"cat":        {min: 0, max: -1, run: fnCat},
	"toString":   {min: 1, max: 1, run: fnToString},
	"toStrings":  {min: 1, max: 1, run: fnToStrings},
	"title":      {min: 1, max: 1, run: fnTitle},
	"untitle":    {min: 1, max: 1, run: fnUntitle},
	"trimAll":    {min: 2, max: 2, run: fnTrimAll},
	"trunc":      {min: 2, max: 2, run: fnTrunc},
	"substr":     {min: 3, max: 3, run: fnSubstr},
	"nospace":    {min: 1, max: 1, run: fnNospace},
	"repeat":     {min: 2, max: 2, run: fnRepeat},
	"splitn":     {min: 3, max: 3, run: fnSplitn},
	"snakecase":  {min: 1, max: 1, run: separatedWords("_")},
	"kebabcase":  {min: 1, max: 1, run: separatedWords("-")},

	"base":     {min: 1, max: 1, run: stringFunc(path.Base)},
	"dir":      {min: 1, max: 1, run: stringFunc(path.Dir)},
	"ext":      {min: 1, max: 1, run: stringFunc(path.Ext)},
	"clean":    {min: 1, max: 1, run: stringFunc(path.Clean)},
	"urlquery": {min: 1, max: 1, run: stringFunc(url.QueryEscape)},

	"regexMatch":             {min: 2, max: 2, run: fnRegexMatch, cost: costOfMatch},
	"regexFind":              {min: 2, max: 2, run: fnRegexFind, cost: costOfMatch},
	"regexReplaceAll":        {min: 3, max: 3, run: fnRegexReplaceAll, cost: costOfAllMatches},
	"regexReplaceAllLiteral": {min: 3, max: 3, run: fnRegexReplaceAllLiteral, cost: costOfAllMatches},
	"regexSplit":             {min: 3, max: 3, run: fnRegexSplit, cost: costOfAllMatches},
	"regexQuoteMeta":         {min: 1, max: 1, run: stringFunc(regexp.QuoteMeta)},

	"toJson":       {min: 1, max: 1, run: fnToJSON},
	"toPrettyJson": {min: 1, max: 1, run: fnToPrettyJSON},
	"toRawJson":    {min: 1, max: 1, run: fnToJSON},
	"fromJson":     {min: 1, max: 1, run: fnFromJSON},
	"b64enc":       {min: 1, max: 1, run: fnB64enc},
	"b64dec":       {min: 1, max: 1, run: fnB64dec},
	"sha1sum":      {min: 1, max: 1, run: fnSHA1},
	"sha256sum":    {min: 1, max: 1, run: fnSHA256},
	"sha512sum":    {min: 1, max: 1, run: fnSHA512},

	"mustToJson":          {min: 1, max: 1, run: fnToJSON},
	"mustToPrettyJson":    {min: 1, max: 1, run: fnToPrettyJSON},
	"mustToRawJson":       {min: 1, max: 1, run: fnToJSON},
	"mustFromJson":        {min: 1, max: 1, run: fnFromJSON},
	"mustRegexMatch":      {min: 2, max: 2, run: fnRegexMatch, cost: costOfMatch},
	"mustRegexFind":       {min: 2, max: 2, run: fnRegexFind, cost: costOfMatch},
	"mustRegexReplaceAll": {min: 3, max: 3, run: fnRegexReplaceAll, cost: costOfAllMatches},

	"int":     {min: 1, max: 1, run: fnInt, number: true},
	"int64":   {min: 1, max: 1, run: fnInt, number: true},
	"atoi":    {min: 1, max: 1, run: fnInt, number: true},
	"float64": {min: 1, max: 1, run: fnFloat64, number: true},
	"add1":    {min: 1, max: 1, run: fnAdd1, number: true},
	"ceil":    {min: 1, max: 1, run: roundingFunc(math.Ceil), number: true},
	"floor":   {min: 1, max: 1, run: roundingFunc(math.Floor), number: true},
	"round":   {min: 2, max: 2, run: fnRound, number: true},
	"add":     {min: 1, max: -1, run: fnAdd, number: true},
	"sub":     {min: 2, max: 2, run: fnSub, number: true},
	"mul":     {min: 1, max: -1, run: fnMul, number: true},
	"div":     {min: 2, max: 2, run: fnDiv, number: true},
	"mod":     {min: 2, max: 2, run: fnMod, number: true},
	"min":     {min: 1, max: -1, run: fnMin, number: true},
	"max":     {min: 1, max: -1, run: fnMax, number: true},
}

// Names of the functions that Parse inserts into the tree. A template cannot call them, because the
// parser does not accept their names in its text.
const (
	printHook = "_print" // writes a value as the package comment describes
	roundHook = "_round" // spends the units for one iteration of a range
	rangeHook = "_range" // allows a range only over lists and objects
)

// Functions returns the names that a template may call, sorted.
func Functions() []string {
	return slices.Sorted(maps.Keys(parseNames()))
}

// parseNames returns the function names that the parser accepts. The map is shared and must not be
// changed.
var parseNames = sync.OnceValue(func() map[string]any {
	names := map[string]any{"and": true, "or": true}
	for name := range functions {
		names[name] = true
	}
	return names
})

// bind returns the functions for one rendering. They spend units of its budget.
func bind(b *budget) template.FuncMap {
	bound := template.FuncMap{
		printHook: func(v any) (string, error) {
			if err := b.walk(v, 0); err != nil {
				return "", &functionError{"print", err}
			}
			return display(v)
		},
		roundHook: func(units int) (string, error) { return "", b.spend(units) },
		rangeHook: func(v any) (any, error) {
			switch v.(type) {
			case nil, []any, map[string]any:
				return v, nil
			}
			return nil, &functionError{"range", errors.New("needs a list or an object, not " + kindOf(v))}
		},
	}
	for name, f := range functions {
		bound[name] = func(args ...any) (any, error) {
			result, err := f.call(b, args)
			if err != nil {
				return nil, &functionError{name, err}
			}
			return result, nil
		}
	}
	return bound
}

func (f function) call(b *budget, args []any) (any, error) {
	if len(args) < f.min || (f.max >= 0 && len(args) > f.max) {
		return nil, errors.New("wants " + f.arity())
	}
	if err := b.spend(callCost + len(args)); err != nil {
		return nil, err
	}
	for i, arg := range args {
		// Literals in a template are of Go's type int; values never are.
		if whole, ok := arg.(int); ok {
			args[i] = int64(whole)
		}
		if f.shallow {
			continue
		}
		if err := b.walk(args[i], 0); err != nil {
			return nil, err
		}
	}
	if f.cost != nil {
		if err := f.cost(b, args); err != nil {
			return nil, err
		}
	}
	result, err := f.run(args)
	if err != nil {
		return nil, err
	}
	if text, ok := result.(string); ok && !f.shallow {
		if len(text) > MaxOutput {
			return nil, errTooMuchOutput
		}
		err = b.spend(len(text))
	}
	return result, err
}

func (f function) arity() string {
	switch {
	case f.max == f.min && f.min == 1:
		return "1 argument"
	case f.max == f.min:
		return fmt.Sprintf("%d arguments", f.min)
	case f.min == 1:
		return "at least 1 argument"
	}
	return fmt.Sprintf("at least %d arguments", f.min)
}
