package gitpack_test

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
)

// process is the stream of a program.
type process struct {
	io.Reader
	io.WriteCloser
}

// uploadPack starts git-upload-pack for a repository.
func uploadPack(t *testing.T, dir string) io.ReadWriteCloser {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "upload-pack", dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = command.Wait() }) // it fails where the test leaves it early
	return process{out, in}
}

func TestOpenStream(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	if _, err := gitpack.OpenStream(t.Context(), uploadPack(t, repo.Dir)); !errors.Is(err,
		transport.ErrEmptyRemoteRepository) {
		t.Errorf("empty: %v", err)
	}
	repo.Write("a", "old").Commit("old")
	tip := repo.Write("a", "content").Commit("new")
	for depth, want := range map[int]int{0: 6, 1: 3} { // a commit, a tree and a blob each
		remote, err := gitpack.OpenStream(t.Context(), uploadPack(t, repo.Dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := remote.Advertised.Head.String(); got != tip {
			t.Errorf("HEAD is %s, want %s", got, tip)
		}
		pack, err := remote.Fetch(t.Context(), gitpack.Request{Want: *remote.Advertised.Head, Depth: depth}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		file, size, err := gitpack.Spool(pack, t.TempDir(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		objects := 0
		_, err = gitpack.Index(t.Context(), file, size, gitpack.Options{Limits: gitpack.Default()},
			func(gitpack.Object) error { objects++; return nil })
		if err != nil || objects != want {
			t.Errorf("depth %d: %d objects, want %d: %v", depth, objects, want, err)
		}
		if err := gitpack.Discard(file); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenStreamOfAnythingElse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "html": "<html>", "short": "0100abc"} {
		_, err := gitpack.OpenStream(t.Context(), process{strings.NewReader(text), nil})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
