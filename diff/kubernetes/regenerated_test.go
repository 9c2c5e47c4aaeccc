package kubernetes

import (
	"encoding/base64"
	"testing"
)

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

// TestBase64OfGeneratedValues: base64 of random characters is as random as they are, also where two renderings share a
// part of it by chance. What it encodes is compared: a part that is fixed there must not change.
func TestBase64OfGeneratedValues(t *testing.T) {
	encoded := func(texts ...string) []string {
		for i, text := range texts {
			texts[i] = base64.StdEncoding.EncodeToString([]byte(text))
		}
		return texts
	}
	for name, c := range map[string]struct {
		samples []string
		want    bool
	}{
		// the second and the third have FVkY2 in common
		"a part by chance": {[]string{"YjY5bEhSUDFoNXBYVkF0dUNBR082Z2NZSGpuRU9ZbFg=",
			"WDVIN1hMZTBsNmNCUDR2NFpmdGJWNThBRm01OFVkY2k=", "a0pFYk4wMnZKdUVqaHN5Wk5LY0dRWW9xbFVkY2pyZTQ="}, true},
		"a fixed part":               {encoded("x9T2hello7Kq4", "w3Zphello8Rv1", "b6Nfhello5Ys0"), true},
		"a fixed part that changed":  {encoded("x9T2hello7Kq4", "w3Zp:evil8Rv1", "b6Nf:evil5Ys0"), false},
		"a fixed token that changed": {encoded("x9T27Kq4 curl a", "w3Zp8Rv1 curl b", "b6Nf5Ys0 curl b"), false},
		"not base64":                 {[]string{"x9T27Kq4", "w3Zp8Rv1", "b6Nf5Ys0"}, true},
		"other bytes":                {encoded("\x00\x01x9T2", "\x02\x03w3Zp", "\x04\x05b6Nf"), true},
	} {
		if got := sameExceptTokens(decodedSamples(c.samples)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if c.want != sameExceptTokens(c.samples) && name != "a part by chance" {
			t.Errorf("%s: %t without decoding", name, !c.want)
		}
	}
}
