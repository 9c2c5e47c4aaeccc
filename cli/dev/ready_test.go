package dev

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadJSONNamesAFileThatIsTooLarge: a file that is cut off would be reported as broken JSON instead.
func TestReadJSONNamesAFileThatIsTooLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ready.json")
	if err := os.WriteFile(file, append(bytes.Repeat([]byte(" "), jsonLimit), "{}"...), 0o600); err != nil {
		t.Fatal(err)
	}
	var value any
	if err := readJSON(file, &value); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error %v, want one about the size", err)
	}
}
