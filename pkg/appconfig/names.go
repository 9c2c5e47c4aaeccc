package appconfig

import "regexp"

// nameRule defines the valid names of a kind, with a description for hints.
type nameRule struct {
	pattern *regexp.Regexp
	words   string
}

// maxName bounds the length of names, which become parts of paths and URLs.
const maxName = 100

var (
	// Components and secrets: section 12, rule 13. Unlike there, a name may not start with a dot,
	// because names become file names.
	componentName = nameRule{
		regexp.MustCompile(`^[a-z0-9_{}][a-z0-9_{}.]*$`),
		"lower-case letters, digits and underscores",
	}
	actionName = nameRule{
		regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`),
		"letters, digits, underscores and dashes",
	}
	inputName   = actionName
	installName = actionName
	titleName   = nameRule{
		regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`),
		"anything on one line",
	}
	stepName = nameRule{
		regexp.MustCompile(`^[^\x00-\x1f\x7f/\\]+$`),
		"anything on one line without slashes",
	}

	// exactVersion matches one released or preview version of Terraform.
	exactVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
)

func article(noun string) string {
	switch noun[0] {
	case 'a', 'e', 'i', 'o', 'u':
		return "an"
	}
	return "a"
}
