package registrytest

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

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// KeyPair returns a new key: the private one in PEM and as a signer.
func KeyPair(t *testing.T) (seal.Secret, ssh.Signer) {
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

// SSH serves repositories below a directory with git upload-pack over ssh. It accepts one
// key and returns its address.
func SSH(t *testing.T, host ssh.Signer, client ssh.PublicKey, root string) string {
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
