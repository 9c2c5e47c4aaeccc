package appconfig

import "testing"

func TestValuesKeyProblem(t *testing.T) {
	for key, want := range map[string]string{
		"replicas":                        "",
		"image.tag":                       "",
		"ingress.hosts[0].paths[12].path": "",
		"matrix[0][1]":                    "",
		`annotations.kubernetes\.io/ingress\.class`:    "",
		`annotations."kubernetes.io/ingress.class".on`: "",
		"node-selector.disk_type/x":                    "",
		"":                                             "has an empty name",
		"a..b":                                         "has an empty name",
		".a":                                           "has an empty name",
		"a.":                                           "has an empty name",
		"[0].a":                                        "has an empty name",
		"a[0":                                          "has a bracket that is not closed",
		"a[x]":                                         "has something else than a number up to 1000 in brackets",
		"a[-1]":                                        "has something else than a number up to 1000 in brackets",
		"a[99999999999999999999]":                      "has something else than a number up to 1000 in brackets",
		"a[0]b":                                        `has "b" where a dot must stand`,
		"a]":                                           `has "]" in a name`,
		"a=b":                                          `has "=" in a name`,
		"a,b":                                          `has "," in a name`,
		`a\`:                                           "ends with a backslash",
		`a."b`:                                         "has a quote that is not closed",
		`a.""`:                                         "has an empty name between quotes",
		`a"b"`:                                         "has a quote inside a name",
		`"a"b`:                                         `has "b" where a dot must stand`,
	} {
		if got := valuesKeyProblem(key); got != want {
			t.Errorf("valuesKeyProblem(%q) = %q, want %q", key, got, want)
		}
	}
}
