// Before anything of the page runs: no worker of it may stand between it and the network.
(() => {
  const refuse = () => Promise.reject(new DOMException("service workers are off", "SecurityError"));
  if (navigator.serviceWorker) {
    try { Object.defineProperty(Object.getPrototypeOf(navigator.serviceWorker), "register", { value: refuse }); } catch { /* already so */ }
  }
})()
