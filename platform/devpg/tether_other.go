//go:build !linux

package devpg

import "syscall"

const kernelTether = false

func setDeathSignal(*syscall.SysProcAttr) {}
