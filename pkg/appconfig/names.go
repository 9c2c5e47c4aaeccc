package appconfig

import (
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// nameRule defines the valid names of a kind, with a description for hints.
type nameRule struct {
	pattern *lazyregexp.Regexp
	words   string
}

// maxName bounds the length of names, which become parts of paths and URLs.
const maxName = 100

var (
	// Components and secrets: section 12, rule 13. Unlike there, a name may not start with a dot,
	// because names become file names.
	componentName = nameRule{
		lazyregexp.New(`^[a-z0-9_{}][a-z0-9_{}.]*$`),
		"lower-case letters, digits and underscores",
	}
	actionName = nameRule{
		lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`),
		"letters, digits, underscores and dashes",
	}
	inputName   = actionName
	installName = actionName
	titleName   = nameRule{
		lazyregexp.New(`^[^\x00-\x1f\x7f]+$`),
		"anything on one line",
	}
	stackName = nameRule{
		lazyregexp.New(`^[^\x00-\x1f\x7f/\\]+$`),
		"anything on one line without slashes",
	}

	// exactVersion matches one released or preview version of Terraform.
	exactVersion = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
)

func article(noun string) string {
	switch noun[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an"
	}
	return "a"
}
