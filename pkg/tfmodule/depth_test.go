package tfmodule

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// Each of these inputs once ended the process, or would have at a larger size. An input just below
// a limit must be parsed without a crash.
func TestDepthIsBounded(t *testing.T) {
	declare := func(value string) string { return "variable \"a\" {\n  default = " + value + "\n}\n" }
	chain := func(part string, times int) string { return strings.Repeat(part, times) }
	const many = 100_000
	// The parser passes over the rest of a line with an error, and continues in the same block.
	swallowed := func(closer string) string {
		return chain(chain("a {\n", maxNesting-1)+"x"+chain(closer, maxNesting-1)+"\n", many/maxNesting)
	}
	refused := map[string]string{
		"a.tf: prefixes":    declare(chain("!", many) + "true"),
		"a.tf: signs":       declare(chain("-", many) + "1"),
		"a.tf: parentheses": declare(chain("(", many)),
		"a.tf: lists":       declare(chain("[", many)),
		"a.tf: objects":     declare(chain("{a=", many)),
		"a.tf: conditions":  declare(chain("1?1:", many) + "1"),
		"a.tf: indexes":     declare("a" + chain("[0]", many)),
		"a.tf: sums":        declare(chain("1+", many) + "1"),
		"a.tf: templates":   declare(chain("\"${", many)),
		"a.tf: blocks":      chain("a {\n", many),
		"a.tf: blocks that a parenthesis seems to end": swallowed(")"),
		"a.tf: blocks that a brace seems to end":       swallowed("}"),
		"a.tf: parentheses that a template seems to end": "x = " + chain(
			chain("(", maxNesting-2)+"\""+chain("%{}", maxNesting-2)+"${", many/maxNesting),
		"a.tf.json: lists":   chain("[", many),
		"a.tf.json: objects": chain(`{"a":`, many),
		"a.tf.json: strings": `{"module":{"a":{"source":"${` + chain("!", many) + `true}"}}}`,
	}
	for name, content := range refused {
		t.Run("refused/"+name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, ":")
			_, err := Read(fstest.MapFS{"m/" + file: {Data: []byte(content)}}, "m")
			if !isRefusal(err) || !strings.Contains(err.Error(), "m/"+file+":") {
				t.Fatalf("got %v, want a refusal that names the file", err)
			}
		})
	}
	survived := map[string]string{
		"conditions": declare(chain("1?1:", maxOperators-2) + "1"),
		"indexes":    declare("a" + chain("[0]", maxOperators-2)),
		"sums":       declare(chain("1+", maxOperators-2) + "1"),
		"nesting":    declare(chain("[", maxNesting-1) + chain("]", maxNesting-1)),
		// The parser copies its errors at each level, so as many as are allowed take seconds.
		"blocks in error": chain(chain("a {\n", maxNesting-1)+"x"+chain(")", maxNesting-1)+"\n", 50),
		"strings":         declare("[" + chain(`"a",`, many) + "]"),
	}
	for name, content := range survived {
		t.Run("survived/"+name, func(t *testing.T) {
			_, err := Read(fstest.MapFS{"m/a.tf": {Data: []byte(content)}}, "m")
			if isRefusal(err) {
				t.Fatal(err)
			}
		})
	}
}

// isRefusal reports whether a file was refused before it was parsed.
func isRefusal(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "make it simpler") || strings.Contains(err.Error(), "split it"))
}

// TestDepthOfJSONIsCheckedInLinearTime checks that the line of each token is not counted from the start of the file.
func TestDepthOfJSONIsCheckedInLinearTime(t *testing.T) {
	check := func(elements int) func() {
		content := []byte(`{"locals":{"a":[` + strings.Repeat("0,\n", elements) + `0]}}`)
		return func() {
			if err := checkDepth("a.tf.json", content); err != nil {
				t.Fatal(err)
			}
		}
	}
	testtime.CheckGrowth(t, 8, "the check of a list 4 times as long", check(80_000), check(320_000))
}
