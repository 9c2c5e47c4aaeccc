package rollout

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestAConfigIsReadOnce: a config is parsed once, however many installs have its
// release, and the cache stays bounded.
func TestAConfigIsReadOnce(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(newSnapshot().config)
	if err != nil {
		t.Fatal(err)
	}
	known := newConfigCache(seal.Identity{})
	first, err := known.get("org", "rel_1", raw)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := known.get("org", "rel_1", nil); err != nil || again != first {
		t.Errorf("it was read again: %v", err)
	}
	if other, err := known.get("org", "rel_2", raw); err != nil || other == first {
		t.Errorf("another release has the same: %v", err)
	}
	for i := range 3 * maxCachedConfigs {
		if _, err := known.get("org", fmt.Sprint("x", i), raw); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(known.byRelease); n > maxCachedConfigs {
		t.Errorf("%d are remembered", n)
	}
}
