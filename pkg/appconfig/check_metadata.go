package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// colorForm matches a hex color: #rgb, #rrggbb, or #rrggbbaa with an opacity.
var colorForm = lazyregexp.New(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`)

func (c *checker) checkMetadata() {
	if c.metadata == nil {
		return
	}
	for name, n := range c.metadata.table.Get("label_colors").Table().Each {
		if text, ok := n.Text(); ok && !colorForm.MatchString(text) {
			hint := `write it like "#2e7d32"`
			if colorForm.MatchString("#" + text) {
				hint = "write " + diagnostic.Quote("#"+text)
			}
			c.errorf(ruleLabelColor, n.At, hint, "the colour of label %s is not a hex colour", diagnostic.Quote(name))
		}
	}
}
