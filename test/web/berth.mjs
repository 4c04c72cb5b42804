// Runs `berth serve` for tests, on loopback with a port that the system chooses. Ends it by its
// pid.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PATIENCE_MS = 20000;

export class Berth {
  /** The running berths, to stop them on failure. @type {Set<Berth>} */
  static running = new Set();

  /**
   * @param {{policy: string, cluster: object[], more?: Object<string, string>}} what more: further
   *   files of policies, by name
   */
  static async start({ policy, cluster, more = {} }) {
    const berth = new Berth();
    berth.folder = await mkdtemp(join(tmpdir(), 'berth-web-'));
    await berth.writePolicy(policy);
    await berth.writeCluster(cluster);
    for (const [name, text] of Object.entries(more)) await writeFile(berth.fileOf(name), text);
    await berth.#run([
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--policy',
      berth.policyFile,
      ...Object.keys(more).flatMap((name) => ['--policy', berth.fileOf(name)]),
      '--cluster',
      berth.clusterFile,
      '--log-level',
      'warn',
    ]);
    return berth;
  }

  fileOf(name) {
    return join(this.folder, name);
  }

  get policyFile() {
    return this.fileOf('policy.yaml');
  }

  get clusterFile() {
    return this.fileOf('cluster.json');
  }

  writePolicy(text) {
    return writeFile(this.policyFile, text);
  }

  writeCluster(items) {
    const list = { apiVersion: 'v1', kind: 'List', items };
    return writeFile(this.clusterFile, JSON.stringify(list));
  }

  async #run(args) {
    const program = process.env.BERTH ?? 'build/berth';
    this.process = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    Berth.running.add(this);
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
    const lines = createInterface({ input: this.process.stdout });
    const first = await new Promise((resolve, reject) => {
      lines.once('line', resolve);
      this.process.once('error', reject);
      this.process.once('exit', (code) => reject(new Error(`${program} ended with ${code}`)));
    });
    const match = /^listening on (http:\/\/.*:(\d+))$/.exec(first.trim());
    if (!match) throw new Error(`${program} said ${JSON.stringify(first)}`);
    this.url = match[1];
    this.port = Number(match[2]);
    this.agent = new Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** Makes berth reload its files. */
  reload() {
    this.process.kill('SIGHUP');
  }

  async stop() {
    Berth.running.delete(this);
    this.agent?.destroy();
    this.process.kill('SIGTERM');
    const code = await this.ended;
    await rm(this.folder, { recursive: true });
    if (code !== 0) throw new Error(`berth ended with ${code}`);
  }

  /** For tests that have ended the process themselves. */
  async gone() {
    Berth.running.delete(this);
    this.agent?.destroy();
    await this.ended;
    await rm(this.folder, { recursive: true });
  }

  /** One request; the reply's body as text. */
  ask(method, path, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const options = {
        method,
        path,
        port: this.port,
        host: '127.0.0.1',
        agent: this.agent,
        headers,
      };
      const sent = request(options, (reply) => {
        const parts = [];
        reply.on('data', (part) => parts.push(part));
        reply.on('end', () => {
          const bytes = Buffer.concat(parts);
          resolve({
            status: reply.statusCode,
            headers: reply.headers,
            bytes,
            text: bytes.toString(),
          });
        });
      });
      sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error(`${path} took too long`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Calls a verb like kube-scheduler. Returns the reply. */
  async verb(name, body) {
    const headers = { 'Content-Type': 'application/json', 'User-Agent': 'Go-http-client/1.1' };
    const reply = await this.ask('POST', `/${name}`, JSON.stringify(body), headers);
    if (reply.status !== 200) throw new Error(`${name}: ${reply.status} ${reply.text}`);
    return JSON.parse(reply.text);
  }

  async json(path) {
    const reply = await this.ask('GET', path);
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text}`);
    return JSON.parse(reply.text);
  }

  /** Waits until @check(the JSON of @path) is true. */
  async until(path, check) {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const page = await this.json(path);
      if (check(page)) return page;
      if (Date.now() > deadline) throw new Error(`timed out waiting for ${path}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
