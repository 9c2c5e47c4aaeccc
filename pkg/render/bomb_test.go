package render

import (
	"runtime"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestCostlyTemplates runs templates that use each costly function as much as the limits allow. All must end
// soon: one unit of work must cost about the same machine time in every function.
func TestCostlyTemplates(t *testing.T) {
	const part = 16 // keeps the test itself short
	const loop = "{{$l := splitList \",\" (repeat 9000 \"a,\")}}{{$t := repeat 10000 \"word \"}}{{range $l}}{{range $l}}"
	const end = "{{end}}{{end}}{{/*.nuon*/}}"
	for name, body := range map[string]string{
		"nothing":     "",
		"variable":    "{{$x := $t}}",
		"variables":   strings.Repeat("{{$x := $t}}", maxVariables-2) + strings.Repeat("{{$t = $t}}", 9000),
		"branches":    strings.Repeat("{{if $t}}{{else}}{{end}}", 5000),
		"chains":      "{{$o := dict \"a\" $l}}" + strings.Repeat("{{if $o.a}}{{end}}", 5000),
		"text":        strings.Repeat("{{if false}}{{end}} ", 9000),
		"upper":       "{{$x := upper $t}}",
		"title":       "{{$x := title $t}}",
		"snakecase":   "{{$x := snakecase $t}}",
		"sha512":      "{{$x := sha512sum $t}}",
		"b64":         "{{$x := b64dec (b64enc $t)}}",
		"quote":       "{{$x := quote $t}}",
		"printf":      "{{$x := printf \"%999s%999s%999s%999s\" 1 2 3 4}}",
		"json":        "{{$x := fromJson (toPrettyJson $l)}}",
		"uniq":        "{{$x := uniq $l}}",
		"sort":        "{{$x := sortAlpha $l}}",
		"reverse":     "{{$x := reverse $l}}",
		"append":      "{{$x := append $l 1}}",
		"without":     "{{$x := without $l 1 2 3 4 5 6 7 8 9}}",
		"merge":       "{{$x := merge (dict \"a\" $l) (dict \"b\" $l)}}",
		"split":       "{{$x := split \"w\" $t}}",
		"join":        "{{$x := join \",\" $l}}",
		"replace":     "{{$x := replace \"w\" \"ww\" $t}}",
		"indent":      "{{$x := nindent 99 $t}}",
		"repeat":      "{{$x := repeat 100000 \"0123456789\"}}",
		"trimAll":     "{{$x := trimAll \"words \" $t}}",
		"regexMatch":  "{{$x := regexMatch \"(w?o?r?d? ?){20}x$\" $t}}",
		"regexSub":    "{{$x := regexReplaceAll \"(w)(o)(r)(d)( )\" $t \"$5$4$3$2$1\"}}",
		"regexSplit":  "{{$x := regexSplit \"w|x\" $t -1}}",
		"regexMany":   "{{$x := regexReplaceAllLiteral \"a.*x|a\" (repeat 9000 \"a\") \"b\"}}",
		"regexParts":  "{{$x := regexSplit \"a.*x|,\" (repeat 4000 \"a,\") -1}}",
		"regexLines":  "{{$x := regexReplaceAll \"(?m)^a*(b|$)\" (repeat 4000 \"a\\n\") \"c\"}}",
		"regexEmpty":  "{{$x := regexReplaceAll \"(x*y)?\" (repeat 9000 \"x\") \"\"}}",
		"trimRunes":   "{{$x := trimAll \"" + manyRunes(300) + "\" (repeat 9000 \"" + manyRunes(300)[297*3:] + "\")}}",
		"compile":     "{{$x := regexMatch \"(a{30}b{30}){10}\" \"a\"}}",
		"deep equal":  "{{$x := eq $l (list 1) $l $l}}",
		"print":       "{{print $l}}",
		"mul":         "{{$x := mul 99999 99999}}",
		"dig":         "{{$x := dig \"a\" \"b\" 1 (dict \"a\" (dict))}}",
		"shallow":     "{{$x := list $l $l $l $l $l $l $l $l}}{{$y := first $x}}",
		"comparisons": "{{if and (lt 1 2) (gt 2 1) (not false)}}{{end}}",
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := Parse("bomb", loop+body+end)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			testtime.CheckCPUCost(t, 5_000, func() { _, err = tmpl.execute(Tree{}, maxWork/part) })
			runtime.ReadMemStats(&after)
			t.Logf("%d MB allocated: %v", (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if err == nil || !strings.Contains(err.Error(), "more work") &&
				!strings.Contains(err.Error(), "larger than") && !strings.Contains(err.Error(), "more than") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// manyRunes returns n characters of three bytes each.
func manyRunes(n rune) string {
	var out strings.Builder
	for i := range n {
		out.WriteRune('\u4e00' + i)
	}
	return out.String()
}

// TestManyArguments calls variadic functions with so many large arguments that a comparison of each
// with each, or a copy of the first for each of the others, would take seconds.
func TestManyArguments(t *testing.T) {
	for name, text := range map[string]string{
		"merge": `{{$b := split "," (repeat 9000 "a,")}}{{$s := dict}}{{$x := merge $b ` + strings.Repeat("$s ",
			20_000) + `}}{{/*.nuon*/}}`,
		"without": `{{$b := splitList "," (repeat 9000 "a,")}}{{$c := append $b "x"}}{{$d := append $b "y"}}{{$x := without (list ` + strings.Repeat("$c ", 50) + `) ` + strings.Repeat("$d ", 50) + `}}{{/*.nuon*/}}`,
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := Parse("many", text)
			if err != nil {
				t.Fatal(err)
			}
			testtime.CheckCPUCost(t, 5_000, func() { _, err = tmpl.Execute(Tree{}) })
			if err != nil && !strings.Contains(err.Error(), "more work") {
				t.Error(err)
			}
		})
	}
}
