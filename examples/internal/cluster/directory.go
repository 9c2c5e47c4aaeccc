package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The files of a directory. Only the owner can read them.
const (
	kubeconfigName = "kubeconfig"
	accountKey     = "accounts.key" // signs the tokens of service accounts
	tokensName     = "tokens.csv"   // the admin's token, in the format of the API server
	portName       = "port"
	certsName      = "certs" // the API server's self-signed certificate, which is its own authority
	logsName       = "logs"  // of the containers that ran as processes
	homesName      = "homes"
	// of real containers
	imagesName = "images"
	podsName   = "pods"
	// of claims
	volumesName = "volumes"
)

// directory is where a cluster stores its state. It is the working directory of the process, so
// that the path of etcd's socket is short enough in any place (about a hundred bytes are allowed).
type directory struct {
	root string // absolute
	lock *os.File
	// of the API server; it is open from the start, so that no other process gets the port
	listener net.Listener
	token    string
}

// openDirectory creates the missing files of a directory, and locks it for this process.
func openDirectory(root string, port int) (*directory, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", root, err)
	}
	d := &directory{root: root}
	for _, dir := range []string{"", logsName, homesName, imagesName, podsName, volumesName} {
		if err := os.MkdirAll(d.path(dir), 0o700); err != nil {
			return nil, fmt.Errorf("make a place for the cluster: %w", err)
		}
	}
	if err := os.Chdir(root); err != nil {
		return nil, fmt.Errorf("go to the cluster's directory: %w", err)
	}
	if err := errors.Join(d.takeLock(), d.makeKey(), d.makeToken(), d.listen(port)); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) path(name string) string { return filepath.Join(d.root, name) }

func (d *directory) close() {
	if d.listener != nil {
		_ = d.listener.Close() // the API server has already closed it
	}
	if d.lock != nil {
		_ = d.lock.Close() // which releases the lock
	}
}

func (d *directory) takeLock() (err error) {
	d.lock, err = os.OpenFile(d.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the cluster's directory: %w", err)
	}
	if err := syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%s is in use by another cluster: stop that one or name another directory: %w", d.root, err)
	}
	return nil
}

func (d *directory) makeKey() error {
	if _, err := os.Stat(d.path(accountKey)); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of service accounts: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("make the key of service accounts: %w", err)
	}
	return d.write(accountKey, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// makeToken reads the admin's token, or creates one.
func (d *directory) makeToken() error {
	if line, err := os.ReadFile(d.path(tokensName)); err == nil {
		d.token, _, _ = strings.Cut(string(line), ",")
		return nil
	}
	d.token = rand.Text()
	return d.write(tokensName, []byte(d.token+",admin,admin,system:masters\n"))
}

// listen opens the requested port, otherwise the port of the last start, otherwise a free one.
func (d *directory) listen(port int) (err error) {
	asked := port != 0
	if !asked {
		if last, err := os.ReadFile(d.path(portName)); err == nil {
			port, _ = strconv.Atoi(strings.TrimSpace(string(last)))
		}
	}
	d.listener, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil && !asked {
		d.listener, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listen for the API server; name another port or none: %w", err)
	}
	return d.write(portName, []byte(strconv.Itoa(d.port())))
}

func (d *directory) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// write replaces a file atomically.
func (d *directory) write(name string, content []byte) error {
	beside := d.path(name + ".new")
	if err := os.WriteFile(beside, content, 0o600); err != nil {
		return fmt.Errorf("write the cluster's %s: %w", name, err)
	}
	if err := os.Rename(beside, d.path(name)); err != nil {
		return fmt.Errorf("write the cluster's %s: %w", name, err)
	}
	return nil
}

// writeKubeconfig writes the admin's kubeconfig, once the API server has its certificate. The file
// is self-contained, so that it can be copied.
func (d *directory) writeKubeconfig() error {
	authority, err := os.ReadFile(d.path(filepath.Join(certsName, "apiserver.crt")))
	if err != nil {
		return fmt.Errorf("read the API server's certificate: %w", err)
	}
	const name = "nuon-cluster"
	content, err := clientcmd.Write(api.Config{
		Clusters: map[string]*api.Cluster{name: {
			Server: fmt.Sprintf("https://127.0.0.1:%d", d.port()), CertificateAuthorityData: authority,
		}},
		AuthInfos:      map[string]*api.AuthInfo{"admin": {Token: d.token}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: "admin"}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return d.write(kubeconfigName, content)
}

// admin returns the configuration of a client with all rights and a high rate limit.
func (d *directory) admin() (*rest.Config, error) {
	c, err := clientcmd.BuildConfigFromFlags("", d.path(kubeconfigName))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.QPS, c.Burst = 500, 1000
	return c, nil
}
