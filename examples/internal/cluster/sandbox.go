package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/container"
)

// sandbox is what the containers of one pod share: its volumes, name and address.
type sandbox struct {
	kubelet *kubelet
	pod     *corev1.Pod // as it was at the start
	dir     string      // removed with the pod
	address string      // where the containers can listen

	mu      sync.Mutex
	volumes map[string]string // the paths, once they are made
}

func newSandbox(k *kubelet, pod *corev1.Pod) *sandbox {
	return &sandbox{kubelet: k, pod: pod, dir: filepath.Join(k.podsDir, string(pod.UID)), address: loopbackAddress(pod)}
}

// prepare makes the volumes of the pod. Its errors may be temporary.
func (s *sandbox) prepare(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.volumes != nil {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "hosts"), []byte(s.hosts()), 0o644); err != nil { //nolint:gosec // no secret
		return err
	}
	made := map[string]string{}
	for i := range s.pod.Spec.Volumes {
		v := &s.pod.Spec.Volumes[i]
		path, err := s.volume(ctx, v)
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", v.Name, err)
		}
		made[v.Name] = path
	}
	s.volumes = made
	return nil
}

// hosts returns the content of /etc/hosts.
func (s *sandbox) hosts() string {
	text := "127.0.0.1\tlocalhost\n::1\tlocalhost\n" + s.address + "\t" + hostname(s.pod) + "\n"
	for _, alias := range s.pod.Spec.HostAliases {
		text += alias.IP + "\t" + strings.Join(alias.Hostnames, "\t") + "\n"
	}
	return text
}

func hostname(pod *corev1.Pod) string {
	name := pod.Spec.Hostname
	if name == "" {
		name = pod.Name
	}
	return strings.TrimRight(name[:min(len(name), 63)], "-.")
}

// mounts returns the mounts of a container.
func (s *sandbox) mounts(c *corev1.Container, e *environment) ([]container.Mount, error) {
	all := []container.Mount{{Source: filepath.Join(s.dir, "hosts"), Target: "/etc/hosts"}}
	if _, err := os.Stat("/etc/resolv.conf"); err == nil {
		all = append(all, container.Mount{Source: "/etc/resolv.conf", Target: "/etc/resolv.conf", ReadOnly: true})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range c.VolumeMounts {
		source, there := s.volumes[m.Name]
		if !there {
			return nil, fmt.Errorf("the pod has no volume %s", m.Name)
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = e.expand(m.SubPathExpr)
		}
		all = append(all, container.Mount{Source: source, SubPath: sub, Target: m.MountPath, ReadOnly: m.ReadOnly ||
			s.contentOfAPI(m.Name)})
	}
	return all, nil
}

// contentOfAPI reports whether a volume has content of the API server, which containers cannot change.
func (s *sandbox) contentOfAPI(name string) bool {
	for _, v := range s.pod.Spec.Volumes {
		if v.Name == name {
			return v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil || v.Projected != nil
		}
	}
	return false
}

// environ returns the variables that each container has: those of the image, and where the API server is.
func (s *sandbox) environ(image []string, e *environment) []string {
	first := &environment{values: map[string]string{}}
	for _, v := range append(append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, image...),
		"HOSTNAME="+hostname(s.pod), "KUBERNETES_SERVICE_HOST=127.0.0.1",
		"KUBERNETES_SERVICE_PORT="+strconv.Itoa(s.kubelet.apiPort)) {
		if name, value, is := strings.Cut(v, "="); is {
			first.set(name, value)
		}
	}
	for _, name := range e.names {
		first.set(name, e.values[name])
	}
	return first.list()
}

// remove removes everything of the pod, except for what its volumes have elsewhere.
func (s *sandbox) remove() { _ = os.RemoveAll(s.dir) }
