package screen

import "testing"

// TestShade checks the parsing of terminals' background reports.
func TestShade(t *testing.T) {
	for said, want := range map[string]Shade{
		"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?62c": Dark, "\x1b]11;rgb:ffff/ffff/ffff\x07": Light,
		"\x1b]11;rgb:ff/f0/e0\x07": Light,
		"\x1b]11;rgb:0/0/0\x07":    Dark, "\x1b[?1;2c": Unknown, "": Unknown, "\x1b]11;rgb:zz/zz/zz\x07": Unknown,
	} {
		if got := parseShade(said); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
	for said, want := range map[string]Shade{"15;0": Dark, "0;default;15": Light, "0;7": Light, "7;8": Dark,
		"": Unknown, "0;default": Unknown} {
		if got := shadeOfColors(said); got != want {
			t.Errorf("%q: %d, want %d", said, got, want)
		}
	}
}
