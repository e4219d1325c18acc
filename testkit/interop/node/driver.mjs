// What a script asks of the test that runs it: one word a line on stdout, answered
// by a line on stdin.
import { createInterface } from 'node:readline';

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the server crash and start anew. */
export async function crash() {
  console.log('crash');
  const { done } = await answers.next();
  if (done) throw new Error('the test does not answer');
}
