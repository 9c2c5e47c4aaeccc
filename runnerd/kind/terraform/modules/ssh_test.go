package modules

import (
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
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

func TestSSH(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	first := repo.Write("main.tf", "# 1", "sub/main.tf", "# sub").Commit("1")
	repo.Git("tag", "v1")
	repo.Write("main.tf", "# 2").Commit("2")
	key, signer := registrytest.KeyPair(t)
	otherKey, other := registrytest.KeyPair(t)
	_, hostKey := registrytest.KeyPair(t)
	at := registrytest.SSH(t, hostKey, signer.PublicKey(), filepath.Dir(repo.Dir))
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
