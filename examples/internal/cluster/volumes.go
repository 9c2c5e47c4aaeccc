package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	standardClass = "standard"
	provisioner   = "nuon.test/pretended"
	// provisionedBy makes the volume controller leave the deletion of a volume to this provisioner.
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// makeClass creates the default storage class. Claims wait for their first pod, as in most
// clusters, so that the scheduler waits for the volume without a warning. The volume exists before
// that.
func makeClass(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: standardClass,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: provisioner,
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), AllowVolumeExpansion: new(true),
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the storage class: %w", err)
	}
	return nil
}

// volumes creates a volume for each claim with an existing class, and deletes it after the claim.
// The real volume controller binds the two. This is the provisioner of all classes.
type volumes struct {
	client kubernetes.Interface
	dir    string
}

func (v *volumes) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(v.client, 0)
	_, err := factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(
		onChange(func(c *corev1.PersistentVolumeClaim) {
			report(ctx, "volume for the claim "+c.Namespace+"/"+c.Name, v.provide(ctx, c))
		}))
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(onChange(func(p *corev1.PersistentVolume) {
		report(ctx, "volume "+p.Name, v.release(ctx, p))
	}))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

// provide creates the volume of a claim that has none.
func (v *volumes) provide(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	class := c.Spec.StorageClassName
	if c.Spec.VolumeName != "" || c.DeletionTimestamp != nil || class == nil || *class == "" {
		return nil
	}
	if _, err := v.client.StorageV1().StorageClasses().Get(ctx, *class, metav1.GetOptions{}); err != nil {
		return ignoreMissing(err) // the claim stays pending, as in any cluster
	}
	made := volumeFor(c, *class, filepath.Join(v.dir, volumeName(c)))
	_, err := v.client.CoreV1().PersistentVolumes().Create(ctx, made, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func volumeName(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

// volumeFor returns the volume of a claim. Real containers mount its path, which is made then.
func volumeFor(c *corev1.PersistentVolumeClaim, class, path string) *corev1.PersistentVolume {
	size, asked := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asked {
		size = resource.MustParse("1Gi")
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(c),
			Annotations: map[string]string{provisionedBy: provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: c.Spec.AccessModes,
			VolumeMode: c.Spec.VolumeMode, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: path},
			},
		},
	}
}

// release deletes a volume of this provisioner whose claim is gone.
func (v *volumes) release(ctx context.Context, p *corev1.PersistentVolume) error {
	if p.Status.Phase != corev1.VolumeReleased || p.Annotations[provisionedBy] != provisioner ||
		p.DeletionTimestamp != nil ||
		p.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(v.dir, p.Name)); err != nil {
		return err
	}
	return ignoreMissing(v.client.CoreV1().PersistentVolumes().Delete(ctx, p.Name, metav1.DeleteOptions{}))
}

// onChange calls do for every object that exists, is created or is changed.
func onChange[T any](do func(T)) cache.ResourceEventHandler {
	see := func(o any) {
		if object, is := o.(T); is {
			do(object)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, now any) { see(now) }}
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// report prints an error, except during the shutdown.
func report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "cluster: %s: %v\n", what, err)
	}
}
