// Package childtest makes the programs of a test run as another user than the test.
//
// It contains no assertions. Tests of packages that start programs use it.
package childtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// UID is the id of that user and of its group: nobody.
const UID = 65534

// UseOtherUser makes programs run as another user until the test ends, and returns a runner
// directory that this user can traverse.
func UseOtherUser(t *testing.T) (root string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: only root can start programs as another user")
	}
	// Not below the directories of tests, which only root can enter.
	root, err := os.MkdirTemp("", "another-user-*")
	if err != nil {
		t.Fatal(err)
	}
	user := &subprocess.User{UID: UID, GID: UID, Home: filepath.Join(root, "home"), Temp: filepath.Join(root, "tmp")}
	subprocess.Configure(subprocess.Setup{User: user})
	t.Cleanup(func() {
		subprocess.Configure(subprocess.Setup{})
		_ = os.RemoveAll(root)
	})
	for _, dir := range []string{root, filepath.Join(root, "work"), filepath.Join(root, "jobs"),
		filepath.Join(root, "tools")} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), subprocess.AllowTraverse(dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{user.Home, user.Temp} {
		if err := errors.Join(os.Mkdir(dir, 0o700), subprocess.GrantOwnership(dir)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
