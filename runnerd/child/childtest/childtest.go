// Package childtest makes the programs of a test run as another user than the test.
//
// It never tries anything itself. Tests of what starts programs use it.
package childtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/child"
)

// UID is that user, and its group: nobody's.
const UID = 65534

// Another makes programs run as another user until the test ends, and returns a runner's directory that this user passes through.
func Another(t *testing.T) (root string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: only root can start programs as another user")
	}
	root, err := os.MkdirTemp("", "another-user-*") // not below those of tests, which are root's alone
	if err != nil {
		t.Fatal(err)
	}
	user := &child.User{UID: UID, GID: UID, Home: filepath.Join(root, "home"), Temp: filepath.Join(root, "tmp")}
	child.Configure(child.Setup{User: user})
	t.Cleanup(func() {
		child.Configure(child.Setup{})
		_ = os.RemoveAll(root)
	})
	for _, dir := range []string{root, filepath.Join(root, "work"), filepath.Join(root, "jobs"), filepath.Join(root, "tools")} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), child.Admit(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{user.Home, user.Temp} {
		if err := errors.Join(os.Mkdir(dir, 0o700), child.Give(dir)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
