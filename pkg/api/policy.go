package api

// MirroredImagesPolicy is the name of the built-in policy that denies plans with images from outside the
// install's registry. It is the key of metadata.toml that requires it.
const MirroredImagesPolicy = "require_mirrored_images"
