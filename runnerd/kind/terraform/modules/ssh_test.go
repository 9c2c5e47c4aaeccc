package modules

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestForgeKeys compares the built-in host keys with the fingerprints that the forges publish.
func TestForgeKeys(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"github.com":    "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU",
		"gitlab.com":    "SHA256:eUXGGm1YGsMAS7vkcx6JOJdOGHPem5gQp4taiCfCLB8",
		"bitbucket.org": "SHA256:ybgmFkzwOSotHTHLJgHO0QN8L0xErw6vd0VhFA9m3SM",
	}
	rest := []byte(forgeKeys)
	for len(rest) > 0 {
		_, hosts, key, _, after, err := ssh.ParseKnownHosts(rest)
		if err != nil {
			t.Fatal(err)
		}
		if got := ssh.FingerprintSHA256(key); got != want[hosts[0]] {
			t.Errorf("%s: %s", hosts[0], got)
		}
		delete(want, hosts[0])
		rest = after
	}
	if len(want) > 0 {
		t.Errorf("without a key: %v", want)
	}
}

// keyPair returns a new key: the private one in PEM and as a signer.
func keyPair(t *testing.T) (seal.Secret, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return seal.NewSecret(pem.EncodeToMemory(block)), signer
}

// sshServer serves repositories with git upload-pack over ssh. It returns its address.
func sshServer(t *testing.T, host ssh.Signer, client ssh.PublicKey, root string) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions,
		error) {
		if string(key.Marshal()) != string(client.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil //nolint:nilnil // no permissions to note
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSH(raw, config, root)
		}
	}()
	return listener.Addr().String()
}

func serveSSH(raw net.Conn, config *ssh.ServerConfig, root string) {
	defer func() { _ = raw.Close() }()
	connection, channels, requests, err := ssh.NewServerConn(raw, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for one := range channels {
		channel, asked, err := one.Accept()
		if err != nil {
			return
		}
		for request := range asked {
			var command struct{ Text string }
			if request.Type != "exec" || ssh.Unmarshal(request.Payload, &command) != nil {
				_ = request.Reply(false, nil)
				continue
			}
			_ = request.Reply(true, nil)
			path := strings.Trim(strings.TrimPrefix(command.Text, "git-upload-pack "), "'")
			git := exec.Command("git", "upload-pack", filepath.Join(root, path)) //nolint:gosec // a test
			git.Stdout = channel
			in, err := git.StdinPipe()
			if err == nil && git.Start() == nil {
				go func() { _, _ = io.Copy(in, channel); _ = in.Close() }()
				_ = git.Wait() // it fails where the client leaves early
			}
			_ = channel.Close()
		}
	}
	_ = connection.Wait()
}

func TestSSH(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	first := repo.Write("main.tf", "# 1", "sub/main.tf", "# sub").Commit("1")
	repo.Git("tag", "v1")
	repo.Write("main.tf", "# 2").Commit("2")
	key, signer := keyPair(t)
	otherKey, other := keyPair(t)
	_, hostKey := keyPair(t)
	at := sshServer(t, hostKey, signer.PublicKey(), filepath.Dir(repo.Dir))
	known := knownhosts.Line([]string{at}, hostKey.PublicKey())
	source := []string{"app/main.tf", calling("x", "git::ssh://git@"+at+"/repo//sub?ref=v1", "")}
	options := Options{AllowPrivate: func(string) bool { return true }}
	with := func(credential Credential) Options {
		options := options
		options.Credentials = credentials(map[string]Credential{"ssh://git@" + at + "/repo": credential})
		return options
	}
	result := mustResolve(t, with(SSHKey(key, known)), nil, source...)
	if got := result.Resolution.Modules[0]; got.Commit != first || got.Repository != "ssh://git@"+at+"/repo" ||
		got.Directory != "sub" {
		t.Errorf("%+v", got)
	}
	// The recorded commit, which is no longer the tag's, is in the history of the default branch.
	repo.Git("tag", "--force", "v1")
	again := mustResolve(t, with(SSHKey(key, known)), &result.Resolution, source...)
	if got := again.Resolution.Modules[0].Commit; got != first {
		t.Errorf("commit %s", got)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no key": {options,
			"reading over ssh needs a key, and there is none for this repository; add a credential"},
		"a token":     {with(Bearer(seal.NewSecret([]byte("hunter2")))), "needs a key"},
		"no host key": {with(SSHKey(key, "")), "the host key of " + at + " is not known; add the output of"},
		"another host key": {with(SSHKey(key, knownhosts.Line([]string{at}, other.PublicKey()))),
			"does not have the host key that is known"},
		"bad host key":  {with(SSHKey(key, "x y z")), "host keys in the credential cannot be read"},
		"another key":   {with(SSHKey(otherKey, known)), "does not accept the ssh key"},
		"no key at all": {with(SSHKey(seal.NewSecret([]byte("hunter2")), known)), "cannot be used; store a private key"},
		"private network": {Options{Credentials: with(SSHKey(key, known)).Credentials},
			"leads to this machine; use a module"},
	} {
		_, err := resolve(t, test.options, nil, source...)
		fails(t, err, "app/main.tf:1", test.want)
		_ = name
	}
	_, err := resolve(t, with(SSHKey(key, known)), nil, "app/main.tf", calling("x", "git::ssh://git@"+at+"/repo/none",
		""))
	fails(t, err, "no such repository")
}
