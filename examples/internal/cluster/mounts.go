package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// file is a file of a volume with content of the API server.
type file struct {
	content []byte
	mode    fs.FileMode
}

// readableByAll is the mode of files of volumes that state none.
const readableByAll = int32(0o644)

// volume makes what a volume of a pod contains, and returns its path.
func (s *sandbox) volume(ctx context.Context, v *corev1.Volume) (string, error) {
	own := filepath.Join(s.dir, "volumes", v.Name)
	switch from := v.VolumeSource; {
	case from.EmptyDir != nil:
		return own, s.emptyDir(own)
	case from.HostPath != nil:
		return from.HostPath.Path, hostPath(from.HostPath)
	case from.PersistentVolumeClaim != nil:
		return s.claimed(ctx, from.PersistentVolumeClaim.ClaimName)
	case from.Secret != nil, from.ConfigMap != nil, from.DownwardAPI != nil, from.Projected != nil:
		files, err := s.filesOf(ctx, v.VolumeSource)
		if err != nil {
			return "", err
		}
		return own, s.write(own, files)
	}
	return "", fmt.Errorf("the volume %s has a source that this cluster cannot mount", v.Name)
}

func (s *sandbox) emptyDir(at string) error {
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	return errors.Join(os.Chmod(at, 0o777), s.share(at)) //nolint:gosec // every user of the pod may write there
}

// hostPath checks that a path of the machine exists, or makes it where the pod requests that.
func hostPath(from *corev1.HostPathVolumeSource) error {
	if from.Type != nil && *from.Type == corev1.HostPathDirectoryOrCreate {
		return os.MkdirAll(from.Path, 0o755)
	}
	_, err := os.Stat(from.Path)
	return err
}

// claimed returns the path of the volume that is bound to a claim.
func (s *sandbox) claimed(ctx context.Context, name string) (string, error) {
	claim, err := s.kubelet.client.CoreV1().PersistentVolumeClaims(s.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if claim.Spec.VolumeName == "" {
		return "", fmt.Errorf("the claim %s is not bound", name)
	}
	bound, err := s.kubelet.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	from := bound.Spec.HostPath
	if from == nil {
		return "", fmt.Errorf("the volume %s of the claim %s is no hostPath", bound.Name, name)
	}
	if bound.Annotations[provisionedBy] == provisioner {
		return from.Path, errors.Join(os.MkdirAll(from.Path, 0o777), os.Chmod(from.Path, 0o777)) //nolint:gosec // as above
	}
	return from.Path, hostPath(from)
}

// filesOf returns the files of a volume by their paths.
func (s *sandbox) filesOf(ctx context.Context, from corev1.VolumeSource) (map[string]file, error) {
	switch {
	case from.Secret != nil:
		data, err := s.kubelet.secret(ctx, s.pod.Namespace, from.Secret.SecretName, from.Secret.Optional)
		return project(data, err, from.Secret.Items, from.Secret.DefaultMode, from.Secret.Optional)
	case from.ConfigMap != nil:
		data, err := s.kubelet.configMap(ctx, s.pod.Namespace, from.ConfigMap.Name, from.ConfigMap.Optional)
		return project(data, err, from.ConfigMap.Items, from.ConfigMap.DefaultMode, from.ConfigMap.Optional)
	case from.DownwardAPI != nil:
		return s.downward(from.DownwardAPI.Items, from.DownwardAPI.DefaultMode)
	}
	files, mode := map[string]file{}, from.Projected.DefaultMode
	for _, source := range from.Projected.Sources {
		more, err := s.projected(ctx, source, mode)
		if err != nil {
			return nil, err
		}
		for path, f := range more {
			files[path] = f
		}
	}
	return files, nil
}

// projected returns the files of one source of a projected volume.
func (s *sandbox) projected(ctx context.Context, from corev1.VolumeProjection, mode *int32) (map[string]file, error) {
	switch {
	case from.Secret != nil:
		data, err := s.kubelet.secret(ctx, s.pod.Namespace, from.Secret.Name, from.Secret.Optional)
		return project(data, err, from.Secret.Items, mode, from.Secret.Optional)
	case from.ConfigMap != nil:
		data, err := s.kubelet.configMap(ctx, s.pod.Namespace, from.ConfigMap.Name, from.ConfigMap.Optional)
		return project(data, err, from.ConfigMap.Items, mode, from.ConfigMap.Optional)
	case from.DownwardAPI != nil:
		return s.downward(from.DownwardAPI.Items, mode)
	case from.ServiceAccountToken != nil:
		token, err := s.token(ctx, from.ServiceAccountToken)
		return map[string]file{from.ServiceAccountToken.Path: {[]byte(token), modeOf(mode, nil)}}, err
	}
	return nil, errors.New("this cluster projects Secrets, ConfigMaps, fields and tokens of service accounts only")
}

// token returns a token of the pod's service account, which is valid as long as the pod exists.
func (s *sandbox) token(ctx context.Context, from *corev1.ServiceAccountTokenProjection) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: from.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: s.pod.Name,
			UID: s.pod.UID},
	}}
	if from.Audience != "" {
		request.Spec.Audiences = []string{from.Audience}
	}
	made, err := s.kubelet.client.CoreV1().ServiceAccounts(s.pod.Namespace).CreateToken(ctx, s.pod.Spec.ServiceAccountName,
		request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return made.Status.Token, nil
}

// downward returns files with fields of the pod.
func (s *sandbox) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		if item.FieldRef == nil {
			return nil, errors.New("this cluster writes fields of the pod only, not its resources")
		}
		value, err := fieldOf(s.pod, item.FieldRef.FieldPath, s.address)
		if err != nil {
			return nil, err
		}
		files[item.Path] = file{[]byte(value), modeOf(mode, item.Mode)}
	}
	return files, nil
}

// project returns the files of a Secret or ConfigMap: those that items select, or all.
func project(data map[string]string, err error, items []corev1.KeyToPath, mode *int32, optional *bool) (map[string]file,
	error) {
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{[]byte(value), modeOf(mode, nil)}
		}
	}
	for _, item := range items {
		value, there := data[item.Key]
		switch {
		case there:
			files[item.Path] = file{[]byte(value), modeOf(mode, item.Mode)}
		case optional == nil || !*optional:
			return nil, fmt.Errorf("references non-existent key: %s", item.Key)
		}
	}
	return files, nil
}

func modeOf(common, own *int32) fs.FileMode {
	mode := readableByAll
	for _, m := range []*int32{common, own} {
		if m != nil {
			mode = *m
		}
	}
	return fs.FileMode(mode) & fs.ModePerm
}

// write writes the files of a volume. Their content does not change when the API server's does.
func (s *sandbox) write(at string, files map[string]file) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for path, f := range files {
		to := filepath.Join(at, filepath.Join("/", path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.content, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(to, f.mode); err != nil {
			return err
		}
	}
	return s.share(at)
}

// share makes the group of the pod, if it has one, the group of a volume.
func (s *sandbox) share(at string) error {
	security := s.pod.Spec.SecurityContext
	if security == nil || security.FSGroup == nil {
		return nil
	}
	return filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode() | 0o440
		if d.IsDir() {
			mode |= fs.ModeSetgid | 0o110
		}
		return errors.Join(os.Lchown(path, -1, int(*security.FSGroup)), os.Chmod(path, mode))
	})
}
