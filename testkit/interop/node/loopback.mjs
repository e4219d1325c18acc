// Has a server listen where PORT says, on this machine only, whatever it wants: the
// examples of the SDK have ports of their own, on all interfaces.
//   PORT=1234 node --import ./loopback.mjs SERVER
import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function onLoopback(...args) {
  const told = args.find((arg) => typeof arg === 'function');
  return listen.call(this, { port: Number(process.env.PORT), host: '127.0.0.1' }, told);
};
