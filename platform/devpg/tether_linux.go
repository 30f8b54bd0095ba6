package devpg

import "syscall"

// kernelTether says that the kernel can tie a child's life to the thread that started it.
const kernelTether = true

func setDeathSignal(attr *syscall.SysProcAttr) { attr.Pdeathsig = signalFast }
