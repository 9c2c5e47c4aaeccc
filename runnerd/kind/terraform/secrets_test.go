package terraform

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSensitiveIn checks that every marked value is learned, at any depth, and nothing else.
func TestSensitiveIn(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string][]string{
		`{"resource_changes":[{"change":{"before":{"a":"was","b":"plain"},"after":{"a":"is","b":"plain","c":["x","hidden",{"d":7}]},
			"before_sensitive":{"a":true},"after_sensitive":{"a":true,"c":[false,true,{"d":true}]}}}]}`: {"7", "hidden", "is", "was"},
		`{"output_changes":{"o":{"before":null,"after":{"deep":["all",{"of":"it"}]},"before_sensitive":false,"after_sensitive":true},
			"p":{"after":"plain","after_sensitive":false}}}`: {"all", "it"},
		`{"resource_drift":[{"change":{"after":{"a":{"b":"c"}},"after_sensitive":{"a":{"b":true,"gone":true}}}}]}`:                   {"c"},
		`{"resource_changes":[{"change":{"after":["a","b"],"after_sensitive":[true]}}]}`:                                             {"a"},
		`{"resource_changes":[{"change":{"after":true,"after_sensitive":true}},{"change":{"after":"true","after_sensitive":true}}]}`: nil,
		`{"resource_changes":7}`: nil, `[`: nil, ``: nil,
	} {
		var got []string
		sensitiveIn([]byte(plan), func(text []byte) { got = append(got, string(text)) })
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plan, diff)
		}
	}
}
