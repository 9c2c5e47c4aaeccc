package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// sample returns a tree with every kind of value.
func sample() Tree {
	t := Tree{}
	t.Set(Path{"install", "id"}, "inl1")
	t.Set(Path{"install", "name"}, "acme")
	t.Set(Path{"inputs", "inputs"}, map[string]any{"greeting": "hello", "replicas": "3"})
	t.Set(Path{"sandbox", "outputs"}, map[string]any{"region": "eu", "zones": []any{"a", "b"}})
	t.Set(Path{"components", "network", "outputs"}, map[string]any{
		"cidr": "10.0.0.0/16", "size": float64(1000000), "half": 0.5, "open": true, "none": nil,
		"subnets": []any{"10.0.1.0/24", "10.0.2.0/24"}, "tags": map[string]any{"b": "<2>", "a": "1"},
	})
	t.Set(Path{"components", "a-b", "outputs", "url"}, "http://x")
	return t
}

func TestExecute(t *testing.T) {
	net := ".nuon.components.network.outputs"
	for _, test := range []struct{ text, want string }{
		{"{{ .Values.x }} {{ untouched", "{{ .Values.x }} {{ untouched"},
		{"nuon {{nuon.install.id}}", "nuon {{nuon.install.id}}"},
		{"a {{.nuon.install.id}} b", "a inl1 b"},
		{"{{.nuon.id}}/{{.nuon.name}}", "inl1/acme"},
		{"{{.nuon.install.inputs.greeting}}={{.nuon.inputs.inputs.greeting}}", "hello=hello"},
		{"{{.nuon.install.sandbox.outputs.region}}={{.nuon.sandbox.outputs.region}}", "eu=eu"},
		{"{{" + net + ".size}}", "1000000"},
		{"{{" + net + ".half}}", "0.5"},
		{"{{" + net + ".open}}", "true"},
		{"[{{" + net + ".none}}]", "[]"},
		{"{{" + net + ".tags}}", `{"a":"1","b":"<2>"}`},
		{"{{" + net + ".subnets}}", `["10.0.1.0/24","10.0.2.0/24"]`},
		{"{{" + net + `.subnets | join ","}}`, "10.0.1.0/24,10.0.2.0/24"},
		{"{{index " + net + ".subnets 1}}", "10.0.2.0/24"},
		{`{{index .nuon.components "a-b" "outputs" "url"}}`, "http://x"},
		{`{{index (values ` + net + `.tags) 0}}`, "1"},
		{`{{if gt (len ` + net + `.tags) 1}}many{{else}}few{{end}}`, "many"},
		{`{{dig "x" "y" "fallback" ` + net + `}}`, "fallback"},
		{`{{dig "tags" "a" "fallback" ` + net + `}}`, "1"},
		{`{{dig "gone" "outputs" "url" "none" .nuon.components}}`, "none"},
		{`{{hasKey .nuon.components "gone"}} {{hasKey .nuon.components "network"}}`, "false true"},
		{`{{range $i, $s := ` + net + `.subnets}}{{$i}}={{$s}};{{end}}`, "0=10.0.1.0/24;1=10.0.2.0/24;"},
		{`{{range $k, $v := ` + net + `.tags}}{{$k}}{{$v}}{{end}}`, "a1b<2>"},
		{`{{with .nuon.install}}{{.id}} {{.inputs.greeting}}{{end}}`, "inl1 hello"},
		{`{{with .nuon}}{{.install.name}}{{end}}`, "acme"},
		{`{{$x := .nuon.components.network.outputs}}{{$x.cidr}}`, "10.0.0.0/16"},
		{`{{$.nuon.install.id}}`, "inl1"},
		{`{{$x := "a"}}{{if .nuon.install.id}}{{$x = .nuon.install.name}}{{end}}{{$x}}`, "acme"},
		{`{{range ` + net + `.subnets}}{{$.nuon.install.id}}{{break}}{{end}}`, "inl1"},
		{`{{/* .nuon */}}x`, "x"},
		{`{{/* .nuon */}}`, ""},
		{`{{.nuon.install.id | upper | quote}}`, `"INL1"`},
		{`{{printf "%s-%03d|%q" .nuon.install.id 7 "x"}}`, `inl1-007|"x"`},
		{`{{toPrettyJson ` + net + `.tags}}`, "{\n  \"a\": \"1\",\n  \"b\": \"<2>\"\n}"},
		{`{{(fromJson "{\"a\":[1,2.5]}").a}}{{/*.nuon*/}}`, "[1,2.5]"},
		{`{{add (int .nuon.inputs.inputs.replicas) 2 | mul 2}}`, "10"},
		{`{{sub 7 2}} {{div 7 2}} {{mod 7 2}} {{min 3 1 2}} {{max 3 1 2}}{{/*.nuon*/}}`, "5 3 1 1 3"},
		{`{{ternary "y" "n" (eq .nuon.install.id "inl1")}}`, "y"},
		{`{{default "d" ""}}{{default "d" "v"}}{{coalesce "" 0 "c"}}{{/*.nuon*/}}`, "dvc"},
		{`{{eq 1 1.0}} {{ne "a" "b"}} {{lt 1 2.5}} {{ge "b" "a"}} {{le 2 2}} {{not ""}}{{/*.nuon*/}}`,
			"true true true true true true"},
		{`{{and 1 "x"}} {{or "" "y"}}{{/*.nuon*/}}`, "x y"},
		{`{{dict "a" 1 "b" (list 1 "x")}}{{/*.nuon*/}}`, `{"a":1,"b":[1,"x"]}`},
		{`{{keys (dict "b" 1 "a" 2)}} {{uniq (list "a" "b" "a")}} {{sortAlpha (list "b" "a")}}{{/*.nuon*/}}`,
			`["a","b"] ["a","b"] ["a","b"]`},
		{`{{first (list 1 2)}}{{last (list 1 2)}}{{concat (list 1) (list 2)}}{{has 2 (list 1 2)}}{{/*.nuon*/}}`,
			`12[1,2]true`},
		{`{{(split "," "a,b")._1}} {{splitList "," "a,b"}}{{/*.nuon*/}}`, `b ["a","b"]`},
		{`{{trimPrefix "v" "v1"}} {{trimSuffix "/" "a/"}} {{replace "a" "b" "aa"}} {{trim " x "}} {{lower "X"}}{{/*.nuon*/}}`,
			"1 a bb x x"},
		{`{{contains "b" "abc"}} {{hasPrefix "a" "abc"}} {{hasSuffix "c" "abc"}}{{/*.nuon*/}}`, "true true true"},
		{`{{b64enc "hi"}} {{b64dec "aGk="}} {{squote "a"}} {{toString 5}} {{empty ""}}{{/*.nuon*/}}`,
			"aGk= hi 'a' 5 true"},
		{`x:{{nindent 2 "a\nb"}}{{indent 1 "c"}}{{/*.nuon*/}}`, "x:\n  a\n  b c"},
		{`{{all 1 ""}} {{any "" 0 "a"}} {{kindOf 1}} {{kindOf (list)}} {{kindIs "map" (dict)}}{{/*.nuon*/}}`,
			"false true int64 slice true"},
		{`{{deepEqual (list 1) (list 1)}} {{tuple 1}} {{get (dict "a" 1) "a"}}{{get (dict) "a"}}{{/*.nuon*/}}`,
			"true [1] 1"},
		{`{{pluck "a" (dict "a" 1) (dict "b" 2)}} {{pick (dict "a" 1 "b" 2) "a"}} {{omit (dict "a" 1 "b" 2) "a"}}{{/*.nuon*/}}`, `[1] {"a":1} {"b":2}`},
		{`{{merge (dict "a" (dict "x" 1)) (dict "a" (dict "x" 2 "y" 3) "b" 4)}}{{/*.nuon*/}}`,
			`{"a":{"x":1,"y":3},"b":4}`},
		{`{{$l := list 1 2 3}}{{append $l 4}}{{prepend $l 0}}{{rest $l}}{{initial $l}}{{reverse $l}}{{$l}}{{/*.nuon*/}}`,
			"[1,2,3,4][0,1,2,3][2,3][1,2][3,2,1][1,2,3]"},
		{`{{compact (list 1 "" 0 2)}}{{without (list 1 2 3) 2 3}}{{slice (list 1 2 3) 1}}{{slice (list 1 2 3) 1 2}}{{/*.nuon*/}}`, "[1,2][1][2,3][2]"},
		{`{{rest (list)}}{{initial (list)}}{{/*.nuon*/}}`, "[][]"},
		{`{{print 1 "a" true}} {{println 1 2}}{{cat "a" nil "b"}} {{toStrings (list 1 "b")}}{{/*.nuon*/}}`,
			"1atrue 1 2\na b [\"1\",\"b\"]"},
		{`{{title "ab cd"}} {{untitle "Ab Cd"}} {{trimAll "-" "--a-"}} {{nospace " a b "}} {{repeat 3 "ab"}}{{/*.nuon*/}}`,
			"Ab Cd ab cd a ab ababab"},
		{`{{trunc 2 "aéb"}} {{trunc -1 "ab"}} {{trunc 9 "ab"}} {{substr 1 2 "abc"}} {{substr 1 -1 "abc"}} {{substr 3 1 "abc"}}{{/*.nuon*/}}`, "a b ab b bc "},
		{`{{(splitn "," 2 "a,b,c")._1}} {{snakecase "FooBar baz"}} {{kebabcase "FooBar.Baz"}}{{/*.nuon*/}}`,
			"b,c foo_bar_baz foo-bar-baz"},
		{`{{base "a/b.c"}} {{dir "a/b.c"}} {{ext "a/b.c"}} {{clean "a/../b"}} {{urlquery "a b&c"}}{{/*.nuon*/}}`,
			"b.c a .c b a+b%26c"},
		{`{{regexMatch "^a+$" "aa"}} {{regexFind "[0-9]+" "a12b3"}} {{regexReplaceAll "a(x*)b" "-axxb-" "${1}W"}} {{regexReplaceAllLiteral "a" "aba" "$1"}}{{/*.nuon*/}}`,
			"true 12 -xxW- $1b$1"},
		{`{{regexSplit "," "a,b,c" -1}} {{regexSplit "," "a,b,c" 2}} {{regexQuoteMeta "a.b"}}{{/*.nuon*/}}`,
			`["a","b","c"] ["a","b,c"] a\.b`},
		{`{{sha256sum "a"}} {{sha1sum "a"}}{{/*.nuon*/}}`,
			"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
		{`{{len (sha512sum "a")}} {{atoi "7"}} {{float64 "1.5"}} {{add1 1}} {{ceil 1.2}} {{floor "1.8"}} {{round 2.345 2}}{{/*.nuon*/}}`, "128 7 1.5 2 2 1 2.35"},
	} {
		tmpl, err := Parse("vars.x", test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		for range 2 { // the same template produces the same text again
			got, err := tmpl.Execute(sample())
			if err != nil || got != test.want {
				t.Errorf("Execute(%q) = %q, %v; want %q", test.text, got, err, test.want)
			}
		}
	}
}

func TestRefs(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"no template", nil},
		{"{{.nuon.components.network.outputs.cidr}}", []string{"components.network.outputs.cidr"}},
		{"{{$.nuon.install.id}}{{.nuon.id}}", []string{"install.id"}},
		{"{{.nuon.install.inputs.b}}{{.nuon.inputs.inputs.a}}", []string{"inputs.inputs.a", "inputs.inputs.b"}},
		{"{{$x := .nuon.a}}{{$x.b}}", []string{"a.b"}},
		{"{{$x := .nuon.a}}", []string{"a"}},
		{"{{$x := .nuon.a}}{{$x = .nuon.c}}{{$x.b}}", []string{"a", "c"}},
		{"{{with .nuon.a}}{{.b}}{{end}}", []string{"a", "a.b"}},
		{"{{with .nuon}}{{.a}}{{else}}{{.nuon.b}}{{end}}", []string{"a", "b"}},
		{"{{with $x := .nuon.a}}{{$x.b}}{{end}}", []string{"a", "a.b"}},
		{"{{if .nuon.a}}{{.nuon.b}}{{else if .nuon.c}}{{.nuon.d}}{{end}}", []string{"a", "b", "c", "d"}},
		{"{{range .nuon.a}}{{.b}}{{$.nuon.c}}{{end}}", []string{"a", "c"}},
		{"{{range $i, $x := .nuon.a}}{{$x.b}}{{end}}", []string{"a"}},
		{`{{index .nuon.a.b "c" "d"}}`, []string{"a.b.c.d"}},
		{`{{index .nuon.a.b 0 "d"}}`, []string{"a.b"}},
		{`{{index .nuon.a .nuon.b}}`, []string{"a", "b"}},
		{`{{(index .nuon.a "b").c}}`, []string{"a.b.c"}},
		{`{{dig "k" "" .nuon.components.x.outputs}}`, []string{"components.x.outputs"}},
		{`{{.nuon.components | dig "x" "outputs" "k" ""}}`, []string{"components.x.outputs"}},
		{`{{dig "inputs" "a" "" .nuon.inputs}}`, []string{"inputs.inputs.a"}},
		{`{{toJson .nuon.install}}`, []string{"inputs.inputs", "install", "sandbox"}},
		{`{{printf "%s" (.nuon.a | default .nuon.b)}}`, []string{"a", "b"}},
		{"{{.nuon.a" + strings.Repeat(".b", 40) + "}}", []string{"a" + strings.Repeat(".b", 31)}},
		{`{{"define"}}{{/*.nuon*/}}`, nil},
	} {
		tmpl, err := Parse("t", test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		var got []string
		for _, ref := range tmpl.Refs() {
			got = append(got, ref.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Refs(%q):\n%s", test.text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"{{.nuon.a", "k:1:1: an expression is not closed (write }} behind it)"},
		{"\n{{.nuon.a | noope}}", `k:2:13: there is no function "noope" (allowed are add, add1, all, and,`},
		{"{{.nuon.a | toJSON}}", `k:1:13: there is no function "toJSON" (write toJson)`},
		{"{{/* now */}}{{.nuon.a}} {{now}}",
			`k:1:28: there is no function "now" (take it out: a template gives the same text every time`},
		{"{{lookup .nuon.a}}", "the cluster or the chart, which is for Helm to do"},
		{"{{range until 5}}{{.nuon.a}}{{end}}", "(range over a list or an object instead)"},
		{"{{nuon.install.id}} {{.nuon.id}}", "k:1:3: there is no function \"nuon\" (write .nuon with a leading dot)"},
		{"{{html .nuon.a}}", `there is no function "html"`},
		{"{{call .nuon.a}}", `there is no function "call"`},
		{"{{_print .nuon.a}}", `there is no function "_print"`},
		{`{{define "x"}}{{end}}{{.nuon.a}}`, "cannot define other templates"},
		{`{{define "t"}}{{.nuon.a}}{{end}}`, "cannot define other templates"},
		{`{{block "x" .nuon.a}}{{end}}`, "cannot define other templates"},
		{`{{template "t"}}{{.nuon.a}}`, "k:1:12: templates cannot call other templates"},
		{`{{range 1000000000}}{{.nuon.a}}{{end}}`, "k:1:9: a range over a number"},
		{`{{range (len .nuon.a)}}{{end}}`, "a range over a number"},
		{`{{range .nuon.a | int}}{{end}}`, "a range over a number"},
		{strings.Repeat("{{$x := .nuon.a}}\n", maxVariables+1), "k:101:3: more than 100 variables are declared"},
		{"{{.}}{{.nuon.a}}", "this reads everything below .nuon"},
		{"\n  {{toJson .nuon}}", "k:2:5: this reads everything below .nuon"},
		{"{{toJson $}}{{.nuon.a}}", "this reads everything below .nuon"},
		{strings.Repeat("{{if .nuon.a}}", 200) + strings.Repeat("{{end}}", 200), "nested more than 100 levels"},
		{strings.Repeat("{{.nuon.a}}", maxActions+1), "more than 20000 actions"},
		{".nuon" + strings.Repeat("x", MaxText), "larger than"},
		{`{{list "}}" ` + strings.Repeat(".nuon.a ", 200_000) + "}}", "the actions of the template have more than"},
		{".nuon\xff", "not UTF-8"},
		{"{{.nuon.a}} {{\x1b[31m}}", "k:1: unrecognized character in action: U+001B"},
		{"{{.nuon.a}} {{`\x1b[31m", "k:1: a text in an expression is not closed"},
		{"{{.nuon.a}} {{index .nuon.b `\x1b[31m` | nope}}", "no function"},
	} {
		_, err := Parse("k", test.text)
		var refused *Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Parse(%.60q) = %v, want it to contain %q", test.text, err, test.want)
		}
	}
}

func TestExecuteRefuses(t *testing.T) {
	net := ".nuon.components.network.outputs"
	tree := sample()
	tree.Set(Path{"components", "network", "outputs", "secret"}, "s3cr3t-value")
	tree.Set(Path{"components", "network", "outputs", "many"}, slices.Repeat([]any{""}, 2000))
	tree.Set(Path{"components", "network", "outputs", "big"}, strings.Repeat("x", 700_000))
	for _, test := range []struct{ text, want string }{
		{"a\n{{" + net + ".gone}}", "k:2:3: .nuon.components.network.outputs.gone has no value"},
		{"{{" + net + ".cdir}}",
			".cdir has no value (the nearest that has one is .nuon.components.network.outputs.cidr)"},
		{"{{.nuon.install.inputs.greting}}",
			".nuon.install.inputs.greting has no value (the nearest that has one is .nuon.inputs.inputs.greeting)"},
		{"{{" + net + ".tags.aa}}", ".tags.aa has no value (`dig`"},
		{"{{.nuon.components.netwrk.outputs.x}}", "(the nearest that has one is .nuon.components.network)"},
		{"{{index " + net + " \"\\x1b[31m\" \"a\" | len}}{{.nuon.install.gone}}", "index: there is no such key"},
		{"{{.nuon.components.gone.outputs.x}}", ".nuon.components.gone.outputs.x has no value"},
		{"{{.nuon.install.inputs.gone}}", ".nuon.install.inputs.gone has no value"},
		{"{{" + net + ".none.deep}}", "outputs.none.deep has no value: what it looks into is null"},
		{"{{" + net + ".secret.deep}}", "outputs.secret.deep has no value: what it looks into is not an object"},
		{"{{range " + net + ".subnets}}{{.gone}}{{end}}", ".gone has no value"},
		{"{{range " + net + ".secret}}{{end}}", "range: needs a list or an object, not a string"},
		{"{{range " + net + ".size}}x{{end}}", "range: needs a list or an object, not a number"},
		{`{{$n := 1000000000}}{{range $n}}x{{end}}{{/*.nuon*/}}`, "range: needs a list or an object, not a number"},
		{"{{int " + net + ".secret}}", "int: the string is not a whole number"},
		{"{{fromJson " + net + ".secret}}", "fromJson: the text is not JSON"},
		{"{{b64dec " + net + ".secret}}", "b64dec: the text is not base64"},
		{"{{printf \"%d\" " + net + ".secret}}", "%d does not fit a string"},
		{`{{printf "%999999d" 1}}{{/*.nuon*/}}`, "a width may have up to three digits"},
		{`{{printf "%p" 1}}{{/*.nuon*/}}`, "only the verbs"},
		{`{{printf "%s"}}{{/*.nuon*/}}`, "wants 1 values and is given 0"},
		{"{{index " + net + ".tags \"gone\"}}", "index: there is no such key"},
		{"{{index " + net + ".subnets 2}}", "index: the list is shorter than that"},
		{"{{join " + net + ".secret " + net + ".subnets 1}}", "join: wants 2 arguments"},
		{"{{" + net + ".big}}{{" + net + ".big}}", "its output is larger than 1048576 bytes"},
		{"{{join " + net + ".big " + net + ".many}}", "its output is larger than"},
		{"{{range $a := " + net + ".many}}{{range $" + net + ".many}}{{end}}{{end}}", "more work than a template may"},
		{"{{$m := " + net + ".many}}{{range $m}}{{range $m}}{{range $m}}{{end}}{{end}}{{end}}",
			"more work than a template may"},
		{"{{$x := list 1 2}}{{range " + net + ".many}}{{$x = concat $x $x}}{{end}}", "more work than a template may"},
		{"{{$x := list 1 2}}{{range " + net + ".many}}{{$x = list $x $x}}{{end}}{{toJson $x}}", "levels deep"},
		{`{{$x := "ab"}}{{range ` + net + `.many}}{{$x = printf "%s%s" $x $x}}{{end}}`, "its output is larger than"},
		{`{{div 1 0}}{{/*.nuon*/}}`, "div: division by zero"},
		{`{{fail (printf "no %s" ` + net + `.secret)}}`, "fail: the template says that these values are not right"},
		{`{{repeat 1000000000000 "a"}}{{/*.nuon*/}}`, "its output is larger than"},
		{`{{repeat 1000000 (repeat 1000000 "a")}}{{/*.nuon*/}}`, "its output is larger than"},
		{`{{regexMatch "(" "a"}}{{/*.nuon*/}}`, "regexMatch: this is not a regular expression"},
		{`{{regexMatch "((a{100}){10}){5}" "a"}}{{/*.nuon*/}}`, "not a regular expression"},
		{`{{regexMatch "(a{500}){2}b?(a{500}){2}" "a"}}{{/*.nuon*/}}`, "the regular expression is too complex"},
		{`{{regexMatch "(a?b?c?d?){50}x" ` + net + `.big}}`, "more work than a template may"},
		{`{{regexReplaceAll "x" ` + net + `.big "yyyy"}}`, "replaces more than 10000 places"},
		{`{{regexReplaceAll "x" (repeat 9999 "x") (repeat 200 "y")}}{{/*.nuon*/}}`, "its output is larger than"},
		{`{{regexReplaceAll "` + strings.Repeat("()", 21) + `" "x" ""}}{{/*.nuon*/}}`, "too complex"},
		{`{{regexSplit "" ` + net + `.big -1}}`, "makes more than 10000 parts"},
		{`{{slice (list 1) 1 9}}{{/*.nuon*/}}`, "slice: the list is shorter than that"},
		{`{{float64 ` + net + `.secret}}`, "float64: the string is not a number"},
		{`{{splitn "," 99999 "a"}}{{/*.nuon*/}}`, "splitn: the second argument is the number of parts"},
		{`{{mul 9223372036854775807 2}}{{/*.nuon*/}}`, "the result is too large"},
		{`{{lt "1" 2}}{{/*.nuon*/}}`, "cannot compare a string with a number"},
		{`{{1i}}{{/*.nuon*/}}`, "k:1:3: it cannot be evaluated"},
	} {
		tmpl, err := Parse("k", test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		testtime.CheckCPUCost(t, 2_000, func() { _, err = tmpl.Execute(tree) })
		var failed *Error
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Execute(%q) = %v, want it to contain %q", test.text, err, test.want)
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v %v", *failed, err), "s3cr3t") {
			t.Errorf("Execute(%q) tells a value: %v", test.text, err)
		}
	}
}

// Templates of the maximum size must be handled soon, regardless of what they do.
func TestLargeTemplates(t *testing.T) {
	const count = maxActions - 10
	for name, text := range map[string]string{
		"refs on one line": strings.Repeat("{{.nuon.a.b.c}}", count),
		"wide pipelines":   "{{.nuon.a" + strings.Repeat(" | default .nuon.b", 50_000) + "}}",
		"many variables":   strings.Repeat("{{$x := .nuon.a}}", count/2),
		"parentheses":      "{{" + strings.Repeat("(", 9000) + ".nuon.a" + strings.Repeat(")", 9000) + "}}",
		"branches":         strings.Repeat("{{if .nuon.a}}{{else if .nuon.b}}{{else}}{{end}}", count/5),
		"long chain":       "{{.nuon" + strings.Repeat(".a", 200_000) + "}}",
		"many chains":      strings.Repeat("{{.nuon"+strings.Repeat(".a", 50)+"}}", count/4),
		"long text":        "{{.nuon.a}}" + strings.Repeat("x\n", MaxText/2-20),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			testtime.CheckCPUCost(t, 2_000, func() { // far below the time of a quadratic pass
				var tmpl *Template
				if tmpl, err = Parse("big", text); err == nil {
					_, err = tmpl.Execute(sample())
				}
			})
			if err == nil {
				t.Error("it was rendered without values")
			}
			t.Logf("%.200v", err)
		})
	}
}
