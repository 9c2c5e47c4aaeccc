package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

func TestParseJobUser(t *testing.T) {
	for named, want := range map[string]subprocess.User{
		"root": {}, "0": {}, "12345": {UID: 12345, GID: 12345}, "12345:7": {UID: 12345, GID: 7},
	} {
		if got, err := parseJobUser(named); err != nil || *got != want {
			t.Errorf("%s: %+v %v", named, got, err)
		}
	}
	for named, want := range map[string]string{
		"no-such-user": "no such user", "1:x": "no such user", "-1": "no such user", "4294967296": "no such user",
		"12345:0": "group 0 is root's",
	} {
		if _, err := parseJobUser(named); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", named, err)
		}
	}
}

// TestShareNeedsAWay checks that a user that cannot reach its directories is reported at
// the start, and not by a failing job.
func TestShareNeedsAWay(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	dir := filepath.Join(closed, "runner")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(closed, 0o700)); err != nil {
		t.Fatal(err)
	}
	to := &subprocess.User{UID: 12345, GID: 12345}
	if err := share(dir, to); err == nil || !strings.Contains(err.Error(), "12345:12345 has no access to "+closed) {
		t.Errorf("got %v", err)
	}
}

func TestProgramsSays(t *testing.T) {
	for _, test := range []struct {
		says ProgramUser
		want string
	}{
		{ProgramUser{User: "7:7", Root: true}, "cannot read the runner's files"}, {ProgramUser{Root: true}, "run as root"},
		{ProgramUser{}, "can read its files"},
	} {
		if got := test.says.String(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test.says, got)
		}
	}
}
