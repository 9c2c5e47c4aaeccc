package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// checkInstaller checks the URLs of installer.toml, which has no effect.
func (c *checker) checkInstaller() {
	if c.installer == nil {
		return
	}
	for name, n := range c.installer.table.Each {
		text, ok := n.Text()
		if !ok || text == "" || !strings.HasSuffix(name, "_url") {
			continue
		}
		if problem, hint := format.CheckValue(format.FormatURL, text); problem != "" {
			c.warnf(format.FormatURL, n.At, hint, "%s %s", name, problem)
		}
	}
}
