package tfmodule

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Each of these inputs once ended the process, or would have at a larger size. An input just below
// a limit must be parsed without a crash.
func TestDepthIsBounded(t *testing.T) {
	declare := func(value string) string { return "variable \"a\" {\n  default = " + value + "\n}\n" }
	chain := func(part string, times int) string { return strings.Repeat(part, times) }
	const many = 100_000
	refused := map[string]string{
		"a.tf: prefixes":     declare(chain("!", many) + "true"),
		"a.tf: signs":        declare(chain("-", many) + "1"),
		"a.tf: parentheses":  declare(chain("(", many)),
		"a.tf: lists":        declare(chain("[", many)),
		"a.tf: objects":      declare(chain("{a=", many)),
		"a.tf: conditions":   declare(chain("1?1:", many) + "1"),
		"a.tf: indexes":      declare("a" + chain("[0]", many)),
		"a.tf: sums":         declare(chain("1+", many) + "1"),
		"a.tf: templates":    declare(chain("\"${", many)),
		"a.tf: blocks":       chain("a {\n", many),
		"a.tf.json: lists":   chain("[", many),
		"a.tf.json: objects": chain(`{"a":`, many),
		"a.tf.json: strings": `{"module":{"a":{"source":"${` + chain("!", many) + `true}"}}}`,
	}
	for name, content := range refused {
		t.Run("refused/"+name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, ":")
			_, err := Read(fstest.MapFS{"m/" + file: {Data: []byte(content)}}, "m")
			if err == nil || !strings.Contains(err.Error(), "m/"+file+":") {
				t.Fatalf("got %v, want a refusal that names the file", err)
			}
		})
	}
	survived := map[string]string{
		"conditions": declare(chain("1?1:", maxOperators-1) + "1"),
		"indexes":    declare("a" + chain("[0]", maxOperators/2-1)),
		"sums":       declare(chain("1+", maxOperators-1) + "1"),
		"nesting":    declare(chain("[", maxNesting-1) + chain("]", maxNesting-1)),
	}
	for name, content := range survived {
		t.Run("survived/"+name, func(t *testing.T) {
			_, err := Read(fstest.MapFS{"m/a.tf": {Data: []byte(content)}}, "m")
			if err != nil && strings.Contains(err.Error(), "make it simpler") {
				t.Fatal(err)
			}
		})
	}
}
