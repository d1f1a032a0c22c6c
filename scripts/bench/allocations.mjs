// Loaded into the subjects of Node (`node --import`): counts the bytes and the promises that requests
// allocate, while the bench asks for it through the channel between the processes. Idle otherwise.

import { GCProfiler, promiseHooks } from 'node:v8'

const counters = { bytes: countBytes, promises: countPromises }
let stop

process.on('message', ({ start }) => {
  if (start !== undefined) stop = counters[start]()
  process.send?.(start === undefined ? stop() : 0)
})
process.channel?.unref() // or it would keep the process from ending

// What was added between garbage collections, as V8 counts it before and after each.
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
