package subprocess

import "testing"

// TestOutput: what is too much is refused as a whole, and reported.
func TestOutput(t *testing.T) {
	t.Parallel()
	for text, fits := range map[string]bool{"": true, "12": true, "345": false} {
		kept := &Output{Max: 4}
		if _, err := kept.Write([]byte("12")); err != nil {
			t.Fatal(err)
		}
		n, err := kept.Write([]byte(text))
		if (err == nil) != fits || kept.Exceeded() == fits || string(kept.Bytes()) != "12"+text[:n] {
			t.Errorf("%q: %d, %v, %q", text, n, err, kept.Bytes())
		}
	}
}
