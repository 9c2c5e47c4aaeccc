package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nuon-toolkit/nuon/pkg/gitpack"
	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// forgeKeys are the published host keys of large forges: docs.github.com, "GitHub's SSH key
// fingerprints"; docs.gitlab.com, "GitLab.com settings"; support.atlassian.com, "Configure SSH".
// TestForgeKeys compares their fingerprints.
const forgeKeys = `github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
gitlab.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAfuCHKVTjquxvt6CM6tdG4SLp1Btn/nOeHHE5UOzRdf
bitbucket.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIazEu89wgQZ4bqs3d63QSMzYVa0MuJ2e2gKTKqu+UUO
`

// sshPause bounds each pause of an ssh server.
const sshPause = time.Minute

// openSSH runs git-upload-pack on an ssh server. The returned function ends the connection.
func (r *run) openSSH(ctx context.Context, at *url.URL, credential Credential) (*gitpack.Remote, func() error,
	error) {
	if credential.kind != sshKey {
		return nil, nil, problemf(
			"add a credential with an ssh key for "+oneLine(at.Host)+
				", or write git::https:// if the repository can be read over https",
			"reading over ssh needs a key, and there is none for this repository")
	}
	signer, err := ssh.ParsePrivateKey(credential.secret.Reveal())
	if err != nil {
		// The library's text may repeat parts of the key.
		return nil, nil, problemf("store a private key in PEM without a passphrase",
			"the ssh key in the credential cannot be used")
	}
	verify, algorithms, err := hostKeys(credential.hosts, at)
	if err != nil {
		return nil, nil, err
	}
	port := at.Port()
	if port == "" {
		port = "22"
	}
	address := net.JoinHostPort(at.Hostname(), port)
	raw, err := r.dial(ctx, at.Hostname(), address)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // ends every call on the connection
	user := "git"
	if name := at.User.Username(); name != "" {
		user = name
	}
	opened, channels, requests, err := ssh.NewClientConn(idleConnection{raw}, address, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: verify,
		HostKeyAlgorithms: algorithms, Timeout: sshPause})
	if err != nil {
		stop()
		return nil, nil, errors.Join(explainSSH(err, at), raw.Close())
	}
	client := ssh.NewClient(opened, channels, requests)
	end := func() error { stop(); return client.Close() }
	stream, err := r.uploadPack(client, at)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	remote, err := gitpack.OpenStream(ctx, stream)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return remote, end, nil
}

// hostKeys returns the check of a server's key, and the algorithms of the known keys, so that the
// server presents one of them.
func hostKeys(given string, at *url.URL) (ssh.HostKeyCallback, []string, error) {
	file, err := os.CreateTemp("", "nuon-known-hosts-")
	if err != nil {
		return nil, nil, fmt.Errorf("check host keys: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = io.WriteString(file, forgeKeys+given+"\n")
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, nil, fmt.Errorf("check host keys: %w", err)
	}
	verify, err := knownhosts.New(file.Name())
	if err != nil {
		return nil, nil, problemf("write lines as ssh-keyscan prints them",
			"the host keys in the credential cannot be read")
	}
	// An empty key is none of the known ones, so the error lists those.
	port := at.Port()
	if port == "" {
		port = "22"
	}
	var known *knownhosts.KeyError
	var algorithms []string
	nothing := &net.TCPAddr{IP: net.IPv4zero}
	if err := verify(net.JoinHostPort(at.Hostname(), port), nothing, noKey{}); errors.As(err, &known) {
		for _, one := range known.Want {
			algorithms = append(algorithms, one.Key.Type())
			if one.Key.Type() == ssh.KeyAlgoRSA {
				algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			}
		}
	}
	if len(algorithms) == 0 {
		return nil, nil,
			problemf("add the output of \"ssh-keyscan "+oneLine(at.Hostname())+
				"\" to the credential, after comparing it with what the server's operator published",
				"the host key of %s is not known", oneLine(at.Host))
	}
	return verify, algorithms, nil
}

// noKey is a public key that equals none.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

func explainSSH(err error, at *url.URL) error {
	var key *knownhosts.KeyError
	switch {
	case errors.As(err, &key):
		return problemf("find out why, and correct the host keys in the credential",
			"the server does not have the host key that is known of %s", oneLine(at.Host))
	case strings.Contains(err.Error(), "unable to authenticate"):
		return problemf("allow the public key on the server, or use another credential",
			"the server does not accept the ssh key in the credential")
	}
	if _, is := netguard.Describe(err); is {
		return err
	}
	return problemf("check the address", "the ssh connection failed: %s", withoutURL(err))
}

// uploadPack starts git-upload-pack.
func (r *run) uploadPack(client *ssh.Client, at *url.URL) (io.ReadWriteCloser, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, explainSSH(err, at)
	}
	input, err := session.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start git-upload-pack: %w", err)
	}
	output, err := session.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start git-upload-pack: %w", err)
	}
	path := at.Path
	if strings.HasPrefix(path, "/~") {
		path = path[1:]
	}
	if err := session.Start("git-upload-pack '" + strings.ReplaceAll(path, "'", `'\''`) + "'"); err != nil {
		return nil, explainSSH(err, at)
	}
	return &sshStream{Reader: counts(output, r.budget), WriteCloser: input}, nil
}

func counts(from io.Reader, budget *netguard.Budget) io.Reader {
	return budget.Limit(io.NopCloser(from))
}

// sshStream is the input and output of a command.
type sshStream struct {
	io.Reader
	io.WriteCloser
}

// Close ends the input of the command. It returns no error for a command that has already ended.
func (s *sshStream) Close() error {
	if err := s.WriteCloser.Close(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// idleConnection fails when the server pauses for longer than sshPause.
type idleConnection struct{ net.Conn }

// Read reads from the server.
func (c idleConnection) Read(into []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(sshPause)); err != nil {
		return 0, err
	}
	return c.Conn.Read(into)
}

// Write writes to the server.
func (c idleConnection) Write(data []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(sshPause)); err != nil {
		return 0, err
	}
	return c.Conn.Write(data)
}
