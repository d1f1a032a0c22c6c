// Preloaded into the subjects that run on Node (`node --import`). On a message from the bench, counts the
// bytes and promises that requests allocate. Idle otherwise.

import { GCProfiler, promiseHooks } from 'node:v8'

const counters = { bytes: countBytes, promises: countPromises }
let stop

process.on('message', ({ start }) => {
  if (start !== undefined) stop = counters[start]()
  process.send?.(start === undefined ? stop() : 0)
})
process.channel?.unref() // otherwise it would keep the process alive

// Adds up the heap's growth between garbage collections. V8 reports its size before and after each.
function countBytes() {
  const began = process.memoryUsage().heapUsed
  const profiler = new GCProfiler()
  profiler.start()
  return () => {
    const { statistics } = profiler.stop()
    const { heapUsed } = process.memoryUsage()
    const used = (heap) => heap.heapStatistics.usedHeapSize
    const freed = statistics.reduce((sum, gc) => sum + used(gc.beforeGC) - used(gc.afterGC), 0)
    return heapUsed - began + freed
  }
}

function countPromises() {
  let count = 0
  const stopHook = promiseHooks.onInit(() => {
    count++
  })
  return () => {
    stopHook()
    return count
  }
}
