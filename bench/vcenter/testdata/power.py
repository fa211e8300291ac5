"""Powers VMs off and on with pyVmomi, in threads, and prints the CPU time of an operation in milliseconds.

Usage: power.py HOST PORT SHA1-THUMBPRINT USER OPERATIONS WAIT VM-ID... (password in VCENTER_PASSWORD; WAIT is 1 or 0)
"""

import os
import sys
import threading
import time

from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import vim

host, port, thumbprint, user, operations, wait = sys.argv[1:7]
si = SmartConnect(host=host, port=int(port), user=user, pwd=os.environ["VCENTER_PASSWORD"], thumbprint=thumbprint, disableSslCertValidation=True)
vms = [vim.VirtualMachine(name, si._stub) for name in sys.argv[7:]]
each = int(operations) // len(vms) // 2


def drive(vm):
    own = si.content.propertyCollector.CreatePropertyCollector()
    for _ in range(each):
        for begin in (vm.PowerOff, vm.PowerOn):
            task = begin()
            if wait == "1":
                WaitForTask(task, si=si, pc=own)
    own.Destroy()


threads = [threading.Thread(target=drive, args=(vm,)) for vm in vms]
before = time.process_time()
for t in threads:
    t.start()
for t in threads:
    t.join()
print((time.process_time() - before) * 1000 / (each * len(vms) * 2))
Disconnect(si)
