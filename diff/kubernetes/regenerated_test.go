package kubernetes

import "testing"

// TestIsSetting: words are settings, in each of their spellings; letters of long random tokens are not, although they
// match the pattern of words by chance.
func TestIsSetting(t *testing.T) {
	for text, want := range map[string]bool{
		"Unconfined": true, "RuntimeDefault": true, "ALLOW_ALL": true, "tls-only": true, "mode2": true,
		"requiredDuringSchedulingIgnoredDuringExecution": true,
		"allow-all-of-the-other-name-spaces":             true,
		"RLRTOTljEByplvqHLHYLjjvDLTNwqPGY":               false,
		"MikBYKLwozkklAynHTzbaCMnjNxsTZxp":               false,
		"dXgxQwOnVwqq7MRDLfmBjdcc8oHTYSbj":               false,
	} {
		if got := isSetting(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
