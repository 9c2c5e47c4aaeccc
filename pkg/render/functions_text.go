package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// display returns a value as it is written to the output: strings unchanged, null as nothing,
// everything else as JSON.
func display(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return encode(v, "")
}

// encode returns JSON without HTML escapes, because templates are text.
func encode(v any, indent string) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return "", errNotJSON // the encoder's own error can quote the value
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// asTexts returns the elements of a list as they are printed, without those that are null, like Sprig.
func asTexts(v any) ([]string, error) {
	list, err := asList(v)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		if item == nil {
			continue
		}
		text, err := display(item)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// withStrings converts all arguments to strings (numbers and bools are formatted, as in Sprig) and passes
// them to f. Other types are an error.
func withStrings(args []any, f func(s []string) (any, error)) (any, error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		switch arg.(type) {
		case nil, []any, map[string]any:
			return nil, errors.New("wants a string, not " + kindOf(arg))
		}
		var err error
		if texts[i], err = display(arg); err != nil {
			return nil, err
		}
	}
	return f(texts)
}

func fnJoin(args []any) (any, error) {
	separator, ok := args[0].(string)
	if !ok {
		return nil, errors.New("the separator must be a string, not " + kindOf(args[0]))
	}
	texts, err := asTexts(args[1])
	if err != nil {
		return nil, err
	}
	if len(texts)*len(separator) > MaxOutput {
		return nil, errTooMuchOutput
	}
	return strings.Join(texts, separator), nil
}

// maxParts bounds the number of parts of a split: one value per byte would take many times the
// memory of the text.
const maxParts = 10_000

var errTooManyParts = fmt.Errorf("makes more than %d parts", maxParts)

func splitText(s []string) ([]string, error) {
	parts := strings.SplitN(s[1], s[0], maxParts+1)
	if len(parts) > maxParts {
		return nil, errTooManyParts
	}
	return parts, nil
}

// fnSplit returns an object with keys _0, _1, ..., like Sprig's; splitList returns a list.
func fnSplit(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		parts, err := splitText(s)
		object := make(map[string]any, len(parts))
		for i, part := range parts {
			object["_"+strconv.Itoa(i)] = part
		}
		return object, err
	})
}

func fnSplitList(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		parts, err := splitText(s)
		list := make([]any, len(parts))
		for i, part := range parts {
			list[i] = part
		}
		return list, err
	})
}

func fnUpper(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.ToUpper(s[0]), nil })
}

func fnLower(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.ToLower(s[0]), nil })
}

func fnTrim(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.TrimSpace(s[0]), nil })
}

func fnTrimPrefix(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.TrimPrefix(s[1], s[0]), nil })
}

func fnTrimSuffix(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.TrimSuffix(s[1], s[0]), nil })
}

func fnHasPrefix(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.HasPrefix(s[1], s[0]), nil })
}

func fnHasSuffix(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) { return strings.HasSuffix(s[1], s[0]), nil })
}

// fnContains reports whether the second argument contains a substring, or an element if it is a
// list.
func fnContains(args []any) (any, error) {
	if _, ok := args[1].([]any); ok {
		return fnHas(args)
	}
	return withStrings(args, func(s []string) (any, error) { return strings.Contains(s[1], s[0]), nil })
}

func fnReplace(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		if strings.Count(s[2], s[0])*len(s[1]) > MaxOutput {
			return nil, errTooMuchOutput
		}
		return strings.ReplaceAll(s[2], s[0], s[1]), nil
	})
}

func quoteAll(args []any, with func(string) string) (any, error) {
	var parts []string
	for _, arg := range args {
		if arg == nil {
			continue // like Sprig
		}
		s, err := display(arg)
		if err != nil {
			return nil, err
		}
		parts = append(parts, with(s))
	}
	return strings.Join(parts, " "), nil
}

func fnQuote(args []any) (any, error) { return quoteAll(args, strconv.Quote) }

func fnSquote(args []any) (any, error) {
	return quoteAll(args, func(s string) string { return "'" + s + "'" })
}

func fnIndent(args []any) (any, error) {
	const most = 100
	columns, ok := args[0].(int64)
	s, isString := args[1].(string)
	if !ok || !isString || columns < 0 || columns > most {
		return nil, fmt.Errorf("wants a number of columns up to %d and a string", most)
	}
	pad := strings.Repeat(" ", int(columns))
	if (strings.Count(s, "\n")+1)*len(pad)+len(s) > MaxOutput {
		return nil, errTooMuchOutput
	}
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func fnNindent(args []any) (any, error) {
	indented, err := fnIndent(args)
	if err != nil {
		return nil, err
	}
	return "\n" + indented.(string), nil
}

func fnToString(args []any) (any, error) { return display(args[0]) }

// fnPrintf allows the verbs that show a value, each for the next argument, with a width and
// precision of up to three digits. This excludes addresses (%p), Go types (%T) and formats that
// write megabytes from a few bytes.
func fnPrintf(args []any) (any, error) {
	format, ok := args[0].(string)
	if !ok {
		return nil, errors.New("the format must be a string, not " + kindOf(args[0]))
	}
	verbs, err := printfVerbs(format)
	if err != nil {
		return nil, err
	}
	if len(verbs) != len(args)-1 {
		return nil, fmt.Errorf("the format wants %d values and is given %d", len(verbs), len(args)-1)
	}
	values := make([]any, len(verbs))
	for i, verb := range verbs {
		if values[i], err = printfValue(verb, args[i+1]); err != nil {
			return nil, err
		}
	}
	return fmt.Sprintf(format, values...), nil
}

// printfVerbs returns the verbs of a format in order. It accepts flags, a width and a precision in
// this order only: Go writes anything else to the output, together with the value.
func printfVerbs(format string) ([]byte, error) {
	var verbs []byte
	total := 0
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return verbs, nil
		}
		rest = strings.TrimLeft(rest, "+-# 0")
		for _, separator := range []string{"", "."} {
			after, has := strings.CutPrefix(rest, separator)
			if !has {
				continue
			}
			rest = strings.TrimLeft(after, "0123456789")
			digits := after[:len(after)-len(rest)]
			if len(digits) > 3 {
				return nil, errors.New("a width may have up to three digits")
			}
			n, _ := strconv.Atoi(digits)
			total += n
		}
		switch {
		case total > MaxOutput:
			return nil, errTooMuchOutput
		case rest == "":
			return nil, errors.New("the format ends within a verb")
		case rest[0] == '%':
		case strings.IndexByte("svqdtfgexXcUbo", rest[0]) >= 0:
			verbs = append(verbs, rest[0])
		default:
			return nil, errors.New("only the verbs s v q d t f g e x X c U b o are allowed")
		}
		format = rest[1:]
	}
}

// printfValue converts a value to the type of its verb, or fails. Go would write %!d(string=...) to
// the output, which is never intended.
func printfValue(verb byte, v any) (any, error) {
	switch verb {
	case 's', 'v', 'q':
		return display(v)
	case 't':
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case 'f', 'g', 'e':
		if f, ok := asFloat(v); ok {
			return f, nil
		}
	case 'x', 'X':
		switch v.(type) {
		case string, int64:
			return v, nil
		}
	default:
		if n, ok := v.(int64); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%%%c does not fit %s", verb, kindOf(v))
}

func fnToJSON(args []any) (any, error)       { return encode(args[0], "") }
func fnToPrettyJSON(args []any) (any, error) { return encode(args[0], "  ") }

func fnFromJSON(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		decoder := json.NewDecoder(strings.NewReader(s[0]))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			return nil, errors.New("the text is not JSON")
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("the text is not JSON")
		}
		return normalize(v, 0)
	})
}

func fnB64enc(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		return base64.StdEncoding.EncodeToString([]byte(s[0])), nil
	})
}

func fnB64dec(args []any) (any, error) {
	return withStrings(args, func(s []string) (any, error) {
		decoded, err := base64.StdEncoding.DecodeString(s[0])
		if err != nil {
			return nil, errors.New("the text is not base64")
		}
		if !utf8.Valid(decoded) {
			return nil, errors.New("what is encoded is not text")
		}
		return string(decoded), nil
	})
}
