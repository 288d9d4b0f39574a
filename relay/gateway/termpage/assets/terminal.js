// The agent's own screen, in a page: terminal.read and terminal.input over the WebSocket.
// The token comes in the fragment of the address, which no server sees.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const session = (() => {
    try { return decodeURIComponent(location.pathname.split('/')[2] || ''); } catch { return ''; }
  })();
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.has('token')) {
    sessionStorage.setItem('agenthost.token', fragment.get('token'));
    history.replaceState(null, '', location.pathname);
  }
  addEventListener('hashchange', () => location.reload()); // another token
  const token = sessionStorage.getItem('agenthost.token') || '';
  const term = new Terminal({ scrollback: 5000 });
  term.open($('screen'));

  // The line at the top says how things are, and for a while before that what happened.
  let things = { text: 'connecting', locked: false };
  let note = null;
  const render = () => {
    $('status').textContent = (note || things).text;
    document.querySelector('header').classList.toggle('locked', (note || things).locked);
  };
  const say = (text, locked) => {
    things = { text, locked: !!locked };
    render();
  };
  const tell = (text) => {
    const mine = note = { text, locked: true };
    render();
    setTimeout(() => { if (note === mine) { note = null; render(); } }, 6000);
  };
  const name = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');
  const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const encode = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  // A connection: call answers with the result, or throws what the other side says. One on
  // which an answer does not come in time is lost: a browser does not say so for minutes.
  const connect = () => new Promise((ready, failed) => {
    const address = new URL('/v1/ws', location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const ws = new WebSocket(address, token ? ['agenthost.v1', 'bearer.' + token] : ['agenthost.v1']);
    const waiting = new Map();
    let last = 0;
    const end = (message) => {
      conn.open = false;
      for (const call of waiting.values()) call.reject({ lost: true });
      waiting.clear();
      failed({ lost: true, message });
      ws.close();
    };
    const conn = {
      open: true,
      end,
      call: (method, params, patience = 15000) => new Promise((resolve, reject) => {
        if (!conn.open) { reject({ lost: true }); return; }
        const id = ++last;
        const late = setTimeout(() => end('the other side does not answer'), patience);
        const over = (then) => (value) => { clearTimeout(late); then(value); };
        waiting.set(id, { resolve: over(resolve), reject: over(reject) });
        ws.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      }),
    };
    ws.onmessage = (m) => {
      const answer = JSON.parse(m.data);
      const call = waiting.get(answer.id);
      if (!call) return;
      waiting.delete(answer.id);
      if (answer.error) call.reject({ code: answer.error.data && answer.error.data.code, message: answer.error.message });
      else call.resolve(answer.result);
    };
    ws.onopen = () => ready(conn);
    ws.onclose = (e) => end(e.reason);
  });

  // Why the server lets nobody in with this token, '' when it does or does not say. It is
  // asked since a WebSocket does not tell.
  const refused = async () => {
    try {
      const r = await fetch('/v1/hosts', { headers: token ? { Authorization: 'Bearer ' + token } : {}, cache: 'no-store' });
      if (r.status !== 401 && r.status !== 403) return '';
      return token ? 'the token does not count: ' + (await r.json()).message : 'the address needs #token=TOKEN';
    } catch {
      return ''; // no server is there
    }
  };

  let conn = null;
  let scopes = [];
  let held = false;
  let running = false;
  let holder = null;
  let barred = ''; // why a token does not type, though it may hold control

  // Why keys do not go, '' when they do.
  const why = () => {
    if (!conn || !conn.open) return 'the connection is lost';
    if (!held) return (holder ? holder.clientType + ' ' + holder.tokenId + ' holds' : 'nobody holds') + ' control';
    if (barred) return 'you hold control, but ' + barred;
    return running ? '' : 'no agent is before the screen';
  };

  // What is typed goes out in order, one call after the other; sent again with the same
  // offset and epoch it is typed once, and at no other agent than the one that was seen.
  let attachment = name();
  let offset = 0;
  let epoch = '';
  let typed = [];
  let typing = false;
  const unsure = 'the connection was lost or the host was started again: what was typed meanwhile is dropped, the last keys may have been typed';
  const anew = 'the agent was started again: what was typed for the one before is dropped';

  // send types data, for the agent of an epoch, and returns why it did not, '' if it did.
  const send = async (data, meant) => {
    let maybe = false; // an earlier try may have reached the host
    for (let late = Date.now() + 2000; ;) {
      try {
        await conn.call('terminal.input', { session, attachment, offset, epoch: meant, data: encode(data) }, 20000); // a screen may be ahead of the answer, on a slow line
        offset += data.length;
        return '';
      } catch (e) {
        if (e.code === 'epoch') return maybe ? unsure : anew;
        if (e.code === 'gap') {
          if (maybe) return unsure;
          attachment = name();
          offset = 0;
          continue;
        }
        if (e.lost || e.code === 'unknown_outcome' || e.code === 'timeout') {
          maybe = true;
        } else if (e.code === 'busy') {
          late = Date.now() + 2000; // the host is there
          tell('keys wait: ' + e.message);
        } else if (e.code !== 'rate_limited' && e.code !== 'host_offline') {
          if (e.code === 'forbidden') barred = e.message;
          return 'keys do not go: ' + (e.message || String(e));
        }
      }
      // Another dialog may be open when the connection comes back.
      if (Date.now() > late) return unsure;
      await sleep(200);
    }
  };
  const drop = (text) => {
    typed = [];
    attachment = name();
    offset = 0;
    tell(text);
  };
  const type = async () => {
    if (typing) return;
    typing = true;
    while (typed.length > 0) {
      const failed = await send(typed.splice(0, 16384), epoch);
      if (failed) drop(failed);
    }
    typing = false;
  };

  // What the terminal answers to the agent's questions comes as keys do: nobody is told of
  // that when it does not go.
  let acted = 0;
  for (const event of ['keydown', 'keypress', 'input', 'paste', 'compositionend', 'mousedown']) {
    $('screen').addEventListener(event, () => { acted = Date.now(); }, true);
  }
  const press = (bytes) => {
    const reason = why() || (typed.length + bytes.length > 1 << 20 ? 'more than 1 MiB waits' : '');
    if (reason) {
      if (Date.now() - acted < 500) tell('keys do not go: ' + reason);
      return;
    }
    for (const b of bytes) typed.push(b);
    type();
  };
  term.onData((text) => press(new TextEncoder().encode(text)));
  term.onBinary((text) => press(Uint8Array.from(text, (c) => c.charCodeAt(0) & 255)));

  const ask = (method, params) => conn.call(method, params).catch((e) => tell(e.message || 'the connection is lost'));
  $('take').onclick = () => ask('session.control', { session, clientType: 'browser' });
  $('fit').onclick = () => {
    const screen = document.querySelector('.xterm-screen');
    const cols = Math.floor($('screen').clientWidth / (screen.clientWidth / term.cols)) - 1;
    const rows = Math.floor($('screen').clientHeight / (screen.clientHeight / term.rows)) - 1;
    if (cols > 0 && rows > 0) ask('terminal.resize', { session, cols, rows });
    else tell('this window is too small');
  };

  const show = (c) => {
    held = !!c.held;
    running = !!c.running;
    holder = c.holder;
    if (c.epoch && c.epoch !== epoch) {
      epoch = c.epoch;
      if (typed.length > 0) drop(anew);
    }
    $('take').hidden = held || !scopes.includes('control');
    $('fit').hidden = !held;
    say(why() || 'you hold control', why());
  };

  // One screen after the other, until it is over.
  const watch = async () => {
    let after = -2;
    let state = '';
    for (;;) {
      const began = Date.now();
      const c = await conn.call('terminal.read', { session, attachment, after, state, max: 65536, waitMs: 10000, console: true }, 30000);
      if (c.cols > 0 && (c.cols !== term.cols || c.rows !== term.rows)) term.resize(c.cols, c.rows);
      if (c.reset) term.reset();
      if (c.data) await new Promise((done) => term.write(decode(c.data), done));
      const news = c.data || c.reset || c.state !== state;
      after = c.at;
      state = c.state;
      show(c);
      if (!news && Date.now() - began < 250) await sleep(250);
    }
  };

  const run = async () => {
    for (let pause = 500; ; pause = Math.min(pause * 2, 15000)) {
      try {
        conn = await connect();
        const welcome = await conn.call('viewer.hello', { protocols: ['agenthost.v1'], client: { name: 'agenthost page', version: '1' }, clientType: 'browser' });
        scopes = welcome.scopes || [];
        barred = scopes.includes('admin') ? '' : 'typing from another machine wants a token of the scope admin';
        pause = 500;
        await watch();
      } catch (e) {
        held = false;
        $('take').hidden = $('fit').hidden = true;
        const never = conn && conn.open ? '' : await refused();
        if (conn) conn.end('');
        if (never || !e.lost && !['busy', 'over', 'rate_limited', 'host_offline', 'timeout', 'unknown_outcome', 'internal'].includes(e.code)) {
          say(never || e.message || String(e), true);
          return;
        }
        say((e.message || 'the connection is lost') + '; trying again', true);
      }
      await sleep(pause);
    }
  };
  run();
})();
