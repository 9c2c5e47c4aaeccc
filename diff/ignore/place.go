package ignore

import (
	"bytes"
	"fmt"

	"github.com/pelletier/go-toml/v2/unstable"
)

// positionOf returns the position of a rule as LINE:COLUMN. The content is valid TOML, because it has
// been decoded. Rules that are inline tables have no separate position; they get that of the
// first.
func positionOf(content []byte, rule int) string {
	var parser unstable.Parser
	parser.Reset(content)
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind != unstable.ArrayTable {
			continue
		}
		if keys := e.Key(); rule == 0 && keys.Next() {
			before := content[:keys.Node().Raw.Offset]
			return fmt.Sprintf("%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
		}
		rule--
	}
	return "1:1"
}
